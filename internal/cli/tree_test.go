package cli

import (
	"strings"
	"testing"

	"paddock/client"
)

func TestLineage(t *testing.T) {
	one := func(name, parent string) client.Session {
		return client.Session{SessionID: name, Name: name, ParentSessionID: parent}
	}
	for name, c := range map[string]struct {
		list []client.Session
		want string
	}{
		"flat": {[]client.Session{one("b", ""), one("a", "")}, "b\na\n"},
		"forks of forks": {
			[]client.Session{one("z", ""), one("a2", "a"), one("a1x", "a1"), one("a1", "a"), one("a", "")},
			"z\na\n├─ a2\n└─ a1\n   └─ a1x\n"},
		"a line goes on beside the young": {
			[]client.Session{one("a", ""), one("a2", "a"), one("a2x", "a2"), one("a1", "a")},
			"a\n├─ a2\n│  └─ a2x\n└─ a1\n"},
		"the parent is not listed": {[]client.Session{one("b", "gone"), one("c", "b")}, "b\n└─ c\n"},
		"a circle":                 {[]client.Session{one("a", "b"), one("b", "a"), one("c", "c")}, "c\na\n└─ b\n"},
	} {
		t.Run(name, func(t *testing.T) {
			ordered, branches := lineage(c.list)
			var b strings.Builder
			for i, s := range ordered {
				b.WriteString(branches[i] + s.Name + "\n")
			}
			if b.String() != c.want {
				t.Errorf("got\n%s", b.String())
			}
		})
	}
}
