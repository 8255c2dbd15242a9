package storetest

import (
	"reflect"
	"strings"
)

// exported lets cmp look into ids, whose text is unexported.
func exported(t reflect.Type) bool { return strings.HasSuffix(t.PkgPath(), "internal/id") }
