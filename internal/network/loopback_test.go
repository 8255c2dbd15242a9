package network

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"paddock/internal/sandbox"
)

func TestLoopback(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("making network namespaces needs root")
	}
	loopback, err := NewLoopback(filepath.Join(t.TempDir(), "netns"))
	if err != nil {
		t.Fatal(err)
	}
	host := namespace(t)
	path, err := loopback.Attach(t.Context(), "one", sandbox.Egress{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	again, err := loopback.Attach(t.Context(), "one", sandbox.Egress{}, nil)
	if err != nil || again != path {
		t.Errorf("attach again: %q, %v; want %q", again, err, path)
	}
	other, err := loopback.Attach(t.Context(), "two", sandbox.Egress{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if inode(t, path) == inode(t, other) {
		t.Error("two machines have one namespace")
	}
	if namespace(t) != host {
		t.Error("the process itself moved to another namespace")
	}

	names := ""
	if err := onOwnThread(func() error {
		ns, err := os.Open(path)
		if err != nil {
			return err
		}
		defer ns.Close()
		if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
			return err
		}
		all, err := net.Interfaces()
		for _, one := range all {
			if one.Flags&net.FlagUp != 0 {
				names += one.Name + " "
			}
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if names != "lo " {
		t.Errorf("interfaces that are up: %q, want lo alone", names)
	}

	for range 2 {
		for _, id := range []string{"one", "two", "never-attached"} {
			if err := loopback.Detach(t.Context(), id); err != nil {
				t.Errorf("detach %s: %v", id, err)
			}
		}
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(mounts), filepath.Dir(path)) {
		t.Error("a namespace is still mounted")
	}
}

// TestHalfMade: a server was killed between making the file and mounting on it.
func TestHalfMade(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("making network namespaces needs root")
	}
	loopback, err := NewLoopback(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(loopback.folder, "half")
	for range 2 {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		path, err := loopback.Attach(t.Context(), "half", sandbox.Egress{}, nil)
		if err != nil || !isNamespace(path) {
			t.Errorf("attach: %q, %v", path, err)
		}
		if err := loopback.Detach(t.Context(), "half"); err != nil {
			t.Error(err)
		}
	}
}

func namespace(t *testing.T) string {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	link, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	return link
}

func inode(t *testing.T, path string) uint64 {
	t.Helper()
	var stat unix.Stat_t
	if err := unix.Stat(path, &stat); err != nil {
		t.Fatal(err)
	}
	return stat.Ino
}
