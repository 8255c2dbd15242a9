// Package failpoint lets a crash test kill the process at a named place. It
// exists for those tests only: without the variable PADDOCK_FAILPOINT in the
// environment a Hit does nothing.
package failpoint

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

// Variable names the environment variable. Its value is the name of a place, or
// name:N for the N-th time (from 1) that the process comes by.
const Variable = "PADDOCK_FAILPOINT"

// armed is read once, when the process starts; nil in every process that is not
// part of a crash test.
var armed = parse(os.Getenv(Variable))

type place struct {
	name string
	left atomic.Int64 // hits until the kill
}

// Hit kills the process with SIGKILL when the place called name is armed: no
// deferred call runs, nothing is flushed, as if the machine had lost the
// process.
func Hit(name string) {
	if armed == nil || armed.name != name || armed.left.Add(-1) != 0 {
		return
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
		panic("failpoint " + name + ": kill: " + err.Error())
	}
	select {} // the signal is on its way; nothing after this place may run
}

// parse reads the variable's value. A malformed count counts as 1, so that a
// mistyped test dies early instead of passing.
func parse(value string) *place {
	if value == "" {
		return nil
	}
	p := &place{name: value}
	p.left.Store(1)
	if name, count, ok := strings.Cut(value, ":"); ok {
		p.name = name
		if n, err := strconv.ParseInt(count, 10, 64); err == nil && n > 0 {
			p.left.Store(n)
		}
	}
	return p
}
