package sandboxtest

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"paddock/internal/sandbox"
)

// needFiles skips a test where the driver does not save files.
func (h Harness) needFiles(t *testing.T) sandbox.Driver {
	t.Helper()
	d := h.Open(t)
	if !d.Capabilities().Files {
		t.Skip("the driver does not save files")
	}
	return d
}

// saved saves the machine's files into a new folder.
func saved(t *testing.T, m sandbox.Machine) string {
	t.Helper()
	folder := t.TempDir()
	if err := m.SaveFiles(t.Context(), folder); err != nil {
		t.Fatalf("save files: %v", err)
	}
	return folder
}

// startWith starts another machine with saved files.
func (h Harness) startWith(t *testing.T, d sandbox.Driver, files string) *Guest {
	t.Helper()
	spec := h.spec()
	spec.Files = files
	return Accept(t, h.start(t, d, spec))
}

// write has the guest write a file.
func (g *Guest) write(uid uint32, path, text string) {
	g.t.Helper()
	if output, code := g.Run(uid, "self", "write", path, text); code != 0 {
		g.t.Fatalf("write %s: %s", path, output)
	}
}

func (g *Guest) wantFile(path, text string) {
	g.t.Helper()
	if have, _ := g.Run(0, "self", "read", path); have != text+"\n" {
		g.t.Errorf("%s is %s, want %s", path, have, text)
	}
}

func saveFiles(t *testing.T, h Harness) {
	d := h.needFiles(t)
	m := h.start(t, d, h.spec())
	g := Accept(t, m)
	g.write(1000, "/tmp/agent", "one")
	g.write(0, "/etc/root", "two")
	if output, code := g.Run(0, "self", "remove", "/tmp/.X11-unix"); code != 0 {
		t.Fatalf("remove a folder of the template: %s", output)
	}
	sleeper := g.Spawn(1000, "self", "sleep")
	files := saved(t, m)
	g.write(1000, "/tmp/agent", "later")
	if !g.alive(sleeper) {
		t.Error("a process did not live through the saving of files")
	}
	for _, pid := range Pids(t, m.Handle().ID) { // the files outlive it
		unix.Kill(pid, unix.SIGKILL)
	}
	waitDone(t, m)

	for range 2 { // as often as wanted
		other := h.startWith(t, d, files)
		other.wantFile("/tmp/agent", `"one"`)
		other.wantFile("/etc/root", `"two"`)
		if output, _ := other.Run(0, "self", "stat", "/tmp/agent", "/etc/root", "/tmp"); output != "644 1000:1000\n644 0:0\n1777 0:0\n" {
			t.Errorf("modes and owners are %q", output)
		}
		if output, _ := other.Run(0, "self", "stat", "/tmp/.X11-unix"); output[0] != '!' {
			t.Errorf("what was removed is back: %s", output)
		}
		if other.Secret == g.Secret {
			t.Error("two machines have one secret")
		}
		other.write(1000, "/tmp/agent", "of the copy")
	}
	if err := m.SaveFiles(t.Context(), t.TempDir()); !errors.Is(err, sandbox.ErrGone) {
		t.Errorf("save files of a machine that ended: %v, want ErrGone", err)
	}
}

func saveFilesPaused(t *testing.T, h Harness) {
	d := h.needFiles(t)
	m := h.start(t, d, h.spec())
	g := Accept(t, m)
	g.write(1000, "/tmp/agent", "one")
	first := saved(t, m)
	g.write(1000, "/tmp/agent", "two")
	if err := m.Pause(t.Context()); err != nil {
		t.Fatalf("pause: %v", err)
	}
	second := saved(t, m)
	if !m.Paused() || !g.silent(request{Op: "ticks"}, frozen) {
		t.Error("the machine is not paused any more")
	}
	if err := m.Resume(t.Context()); err != nil {
		t.Fatalf("resume: %v", err)
	}
	if a := g.read(); a.Error != "" { // to the question asked while frozen
		t.Errorf("the guest answers %q", a.Error)
	}
	h.startWith(t, d, first).wantFile("/tmp/agent", `"one"`)
	copied := h.startWith(t, d, second)
	copied.wantFile("/tmp/agent", `"two"`)
	g.wantFile("/tmp/agent", `"two"`)
}

// A machine never starts with a part of its files.
func brokenFiles(t *testing.T, h Harness) {
	d := h.needFiles(t)
	m := h.start(t, d, h.spec())
	Accept(t, m).write(1000, "/tmp/agent", "one")
	entries, err := os.ReadDir(saved(t, m))
	if err != nil || len(entries) == 0 {
		t.Fatalf("saved files: %v, %v", entries, err)
	}
	for _, entry := range entries {
		folder := saved(t, m)
		if err := os.Remove(filepath.Join(folder, entry.Name())); err != nil {
			t.Fatal(err)
		}
		spec := h.spec()
		spec.Files = folder
		handle, err := d.Plan(spec)
		if err != nil {
			t.Fatalf("plan: %v", err)
		}
		h.destroyLater(t, d, handle)
		if m, err := d.Start(t.Context(), handle, spec); err == nil {
			t.Errorf("a machine started without %s", entry.Name())
			m.Close()
		}
		h.wantNone(t, spec.ID)
	}
}
