package gvisor

import (
	"context"
	"testing"

	"paddock/internal/id"
	"paddock/internal/sandbox"
)

func testSpec() sandbox.Spec {
	return sandbox.Spec{
		ID: id.New[id.Sandbox]().String(), Session: id.New[id.Session]().String(), Hostname: "test", Template: "small",
		Size: sandbox.Size{Slug: "test", VCPUs: 2, MemoryMB: 512, Pids: 256},
	}
}

// testMachine starts a machine that the test's end destroys.
func testMachine(t testing.TB, d *Driver) sandbox.Machine {
	t.Helper()
	spec := testSpec()
	handle, err := d.Plan(spec)
	if err != nil {
		t.Fatal(err)
	}
	m, err := d.Start(t.Context(), handle, spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Destroy(context.WithoutCancel(t.Context()), handle); err != nil {
			t.Error(err)
		}
		m.Close()
	})
	return m
}

// TestRecoverBetween recovers machines whose server was killed between asking
// the kernel for a change and writing down that it came.
func TestRecoverBetween(t *testing.T) {
	d := mustOpen(t, "runtime")
	for _, test := range []struct {
		name   string
		paused bool   // what the kernel is
		file   status // what the file says
	}{
		{"pause not begun", false, pausing},
		{"pause done", true, pausing},
		{"resume not begun", true, resuming},
		{"resume done", false, resuming},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := testMachine(t, d)
			if test.paused {
				if err := m.Pause(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if err := m.Close(); err != nil {
				t.Fatal(err)
			}
			f := d.folderOf(m.Handle().ID)
			if err := f.writeStatus(test.file); err != nil {
				t.Fatal(err)
			}
			again, err := d.Recover(t.Context(), m.Handle(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if again.Paused() != test.paused {
				t.Errorf("recovered as paused=%v, is %v", again.Paused(), test.paused)
			}
			want := running
			if test.paused {
				want = paused
			}
			if is, err := f.readStatus(); err != nil || is != want {
				t.Errorf("status %q, %v; want %q", is, err, want)
			}
			// One resume or pause too many ends the kernel.
			for range 2 {
				if err := again.Pause(t.Context()); err != nil {
					t.Error(err)
				}
				if err := again.Resume(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestForeignHandles(t *testing.T) {
	d := mustOpen(t, "runtime")
	spec := testSpec()
	for _, handle := range []sandbox.Handle{
		{Version: 1, Driver: "microvm", ID: spec.ID},
		{Version: 1, Driver: Name, ID: "../../etc"},
		{Version: 1, Driver: Name, ID: ""},
	} {
		if err := d.Destroy(t.Context(), handle); err == nil {
			t.Errorf("destroy of %+v is no error", handle)
		}
		if _, err := d.Recover(t.Context(), handle, nil); err == nil {
			t.Errorf("recover of %+v is no error", handle)
		}
		if _, err := d.Start(t.Context(), handle, spec); err == nil {
			t.Errorf("start of %+v is no error", handle)
		}
	}
	spec.ID = "sbx_../x"
	if _, err := d.Plan(spec); err == nil {
		t.Error("plan with a malformed id is no error")
	}
}

func TestUnescape(t *testing.T) {
	if have := unescape(`/a\040b\134c\d`); have != `/a b\c\d` {
		t.Errorf("%q", have)
	}
}
