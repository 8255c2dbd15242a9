package network

import (
	"net"
	"os"
	"slices"
	"testing"

	"paddock/internal/sandbox"
)

func open(t *testing.T, folder string) *User {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("making network namespaces needs root")
	}
	u, err := New(Options{Folder: folder, Authority: t.TempDir(), Connections: 8})
	if err != nil {
		t.Skipf("no network here: %v", err)
	}
	return u
}

func devices(t *testing.T, u *User, id string) (names []string) {
	t.Helper()
	if err := u.within(id, func() error {
		all, err := net.Interfaces()
		for _, one := range all {
			names = append(names, one.Name)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return names
}

// TestUser: a network outlives its server, with its rules, and goes without a trace.
func TestUser(t *testing.T) {
	folder := t.TempDir()
	u := open(t, folder)
	if left, _ := os.ReadDir(folder); len(left) > 0 {
		t.Errorf("a trial leaves %v", left)
	}
	rules := sandbox.Egress{Hosts: []string{"example.com"}}
	path, err := u.Attach(t.Context(), "one", sandbox.Egress{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := u.Attach(t.Context(), "one", sandbox.Egress{}, nil); err != nil || again != path {
		t.Errorf("attach again: %q, %v", again, err)
	}
	if err := u.Govern(t.Context(), "one", rules, nil); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := u.Leave("one"); err != nil {
			t.Fatal(err)
		}
	}
	if names := devices(t, u, "one"); !slices.Contains(names, device) {
		t.Errorf("once nobody holds it, the namespace has %v", names)
	}

	next := open(t, folder)
	if err := next.Rejoin(t.Context(), "one", nil); err != nil {
		t.Fatal(err)
	}
	gate := next.live["one"].gate
	if gate.Name("example.com") != "" || gate.Name("example.org") == "" {
		t.Error("the next server has other rules")
	}
	// A machine of a build that had only loopback stays as it is.
	loopback := &Loopback{next.namespaces}
	if _, err := loopback.Attach(t.Context(), "old", rules, nil); err != nil {
		t.Fatal(err)
	}
	if err := next.Rejoin(t.Context(), "old", nil); err != nil || slices.Contains(devices(t, next, "old"), device) {
		t.Errorf("a machine with loopback alone: %v, %v", err, devices(t, next, "old"))
	}
	for range 2 {
		for _, id := range []string{"one", "old", "never-attached"} {
			if err := next.Detach(t.Context(), id); err != nil {
				t.Errorf("detach %s: %v", id, err)
			}
		}
	}
	if left, _ := os.ReadDir(folder); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
