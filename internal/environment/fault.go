package environment

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Fault is one thing that is wrong with a spec.
type Fault struct {
	Line    int    // from 1; 0: of the text as a whole
	Column  int    // from 1; 0: of the line as a whole
	Path    string // the key, such as permissions.default; empty: of the text as a whole
	Message string // what is wrong and what to write instead
}

// String is one line such as "line 3: agnet: unknown key; did you mean agent?".
func (f Fault) String() string { return sentence(f.Line, f.Path, f.Message) }

// Faults is the error of Parse: everything that is wrong, in the order of the
// text.
type Faults struct {
	List []Fault
	More int // further ones that were only counted
}

// maxFaults is how many faults are listed; a text with more is not a spec.
const maxFaults = 50

// Error gives each fault a line.
func (f *Faults) Error() string {
	lines := make([]string, len(f.List))
	for i, fault := range f.List {
		lines[i] = fault.String()
	}
	if f.More > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", f.More))
	}
	return strings.Join(lines, "\n")
}

// newFaults puts faults into their order; nil when there are none.
func newFaults(list []Fault) error {
	if len(list) == 0 {
		return nil
	}
	slices.SortStableFunc(list, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	shown := min(len(list), maxFaults)
	return &Faults{List: list[:shown], More: len(list) - shown}
}

// Warning is something in a valid spec that probably does not do what its
// writer expects.
type Warning struct {
	Line    int // from 1
	Path    string
	Message string
}

// String is one line such as "line 3: idle_timeout: has no effect …".
func (w Warning) String() string { return sentence(w.Line, w.Path, w.Message) }

func sentence(line int, path, message string) string {
	var b strings.Builder
	if line > 0 {
		fmt.Fprintf(&b, "line %d: ", line)
	}
	if path != "" {
		b.WriteString(path + ": ")
	}
	b.WriteString(message)
	return b.String()
}
