package gvisor

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"paddock/internal/runtimes"
	"paddock/internal/sandbox"
)

// upgrade gives two drivers on one folder: one of a build that is kept as
// having that gVisor, and one of a later build.
func upgrade(t *testing.T, gvisor string) (older, newer *Driver) {
	t.Helper()
	needSandbox(t)
	kept, err := runtimes.Open(filepath.Join(t.TempDir(), "runtimes"))
	if err != nil {
		t.Fatal(err)
	}
	build, err := kept.Keep(self, runtimes.Manifest{GVisor: gvisor}, nil)
	if err != nil {
		t.Fatal(err)
	}
	older, newer = mustOpen(t, "runtime"), mustOpen(t, "runtime")
	older.options.Runtimes, older.options.RuntimeDigest = kept, build.Digest
	newer.options.Runtimes, newer.options.RuntimeDigest = kept, strings.Repeat("e", 64)
	return older, newer
}

// TestOtherRuntime: a server of another build finds, drives and removes a
// machine, in its own process or, when the machine's gVisor is another, by the
// program that made it.
func TestOtherRuntime(t *testing.T) {
	for name, gvisor := range map[string]string{"same gVisor": Version(), "other gVisor": "v0.0.0-other"} {
		t.Run(name, func(t *testing.T) {
			older, newer := upgrade(t, gvisor)
			m := testMachine(t, older)
			if err := m.Close(); err != nil {
				t.Fatal(err)
			}
			again, err := newer.Recover(t.Context(), m.Handle(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, byProgram := again.(*machine).control.(kept); byProgram != (gvisor != Version()) {
				t.Errorf("driven by %T", again.(*machine).control)
			}
			if again.Handle().Runtime != older.options.RuntimeDigest {
				t.Errorf("runtime %q, want that of the start", again.Handle().Runtime)
			}
			for range 2 {
				driveRound(t, newer, again)
			}
			before, err := again.Stats(t.Context())
			if err != nil || before.CPU == 0 {
				t.Errorf("stats %+v, %v", before, err)
			}
			// Its end is seen, whoever made it.
			if err := unix.Kill(again.(*machine).kernel.pid, unix.SIGKILL); err != nil {
				t.Fatal(err)
			}
			<-again.Done()
			if err := again.Pause(t.Context()); err == nil {
				t.Error("a dead machine was paused")
			}
			if err := newer.Destroy(t.Context(), m.Handle()); err != nil {
				t.Error(err)
			}
		})
	}
}

// driveRound pauses, loses a server in the middle of resuming, and resumes.
func driveRound(t *testing.T, d *Driver, m sandbox.Machine) {
	t.Helper()
	if err := m.Pause(t.Context()); err != nil {
		t.Fatal(err)
	}
	f := d.folderOf(m.Handle().ID)
	if is, err := (direct{f, m.Handle().ID}).look(t.Context()); err != nil || is != paused {
		t.Fatalf("the kernel is %q, %v", is, err)
	}
	// The word between, as a server leaves it that was killed: the kernel is
	// asked what it does.
	m.(*machine).set(resuming)
	if err := f.writeStatus(resuming); err != nil {
		t.Fatal(err)
	}
	if err := m.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	if is, err := (direct{f, m.Handle().ID}).look(t.Context()); err != nil || is != running {
		t.Fatalf("the kernel is %q, %v", is, err)
	}
}

// A machine whose build is not kept any more is refused, not guessed at, and
// can be removed all the same.
func TestRuntimeNotKept(t *testing.T) {
	older, newer := upgrade(t, "v0.0.0-other")
	m := testMachine(t, older)
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := newer.options.Runtimes.Prune(nil); err != nil {
		t.Fatal(err)
	}
	if _, err := newer.Recover(t.Context(), m.Handle(), nil); err == nil || !strings.Contains(err.Error(), "not kept") {
		t.Errorf("recover: %v", err)
	}
	if err := newer.Destroy(t.Context(), m.Handle()); err != nil {
		t.Error(err)
	}
}
