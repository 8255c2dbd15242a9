package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"paddock/internal/event"
	"paddock/internal/fault"
	"paddock/internal/guestapi"
	"paddock/internal/id"
	"paddock/internal/session"
)

func newSavingHouse(t *testing.T) *house {
	return newHouseWith(t, func(h *house) { h.points, h.haste = true, true })
}

// savedTurn plays a turn that leaves text in the machine's files, and waits
// until they are saved.
func (h *house) savedTurn(v View, m *stubMachine, text string) {
	h.t.Helper()
	_, before := m.read()
	m.write(text)
	run := h.input(v, "one")
	<-m.guest.prompts
	m.guest.endTurn(h.t, run, guestapi.End{Outcome: guestapi.EndCompleted})
	h.waitRun(v, run, session.RunCompleted)
	eventually(h.t, "the files are saved", func() bool { _, now := m.read(); return now > before })
	eventually(h.t, "the point is kept", func() bool { return h.saved(v).Saved.Bytes == int64(len(text)) })
}

func (h *house) saved(v View) View {
	h.t.Helper()
	now, err := h.Session(context.Background(), h.team, v.ID.String())
	if err != nil {
		h.t.Fatal(err)
	}
	return now
}

// restored waits until the session is ready with another machine, and gives that.
func (h *house) restored(v View, old *stubMachine, memory string) *stubMachine {
	h.t.Helper()
	var s session.Session
	eventually(h.t, "the session is back", func() bool {
		s = h.saved(v).Session
		return s.State == session.Ready && s.Sandbox.String() != old.handle.ID
	})
	if s.Memory != memory || s.RestoredTo.IsZero() {
		h.t.Errorf("memory is %q, files are of %s; want %q", s.Memory, s.RestoredTo, memory)
	}
	return h.driver.only(h.t)
}

// A session whose machine is lost at a boundary comes back with its saved files
// and takes input again.
func TestLostMachineIsReplaced(t *testing.T) {
	h := newSavingHouse(t)
	v := h.create(demoSpec)
	m := h.driver.only(t)
	h.savedTurn(v, m, "text")
	m.write("not saved")
	m.end("killed by the test")
	back := h.restored(v, m, "lost:killed")
	if text, _ := back.read(); text != "text" {
		t.Errorf("the machine has %q", text)
	}
	run := h.input(v, "two")
	if got := <-back.guest.prompts; got != run {
		t.Errorf("the guest got %s", got)
	}
	var states []string
	for _, e := range h.history(v) {
		if e.Kind == event.SessionUpdated {
			states = append(states, string(e.Data))
		}
	}
	last := strings.Join(states[len(states)-2:], "\n")
	for _, want := range []string{"SESSION_STATUS_UPDATING", "SESSION_STATUS_READY", `"memory":"lost:killed"`, `"restored_to":`} {
		if !strings.Contains(last, want) {
			t.Errorf("the last states lack %s:\n%s", want, last)
		}
	}
}

// One that is lost in a run comes back, too, but its conversation has ended; what
// waited behind the run has failed with it.
func TestLostInARunIsTerminal(t *testing.T) {
	h := newSavingHouse(t)
	v := h.create(demoSpec)
	m := h.driver.only(t)
	h.savedTurn(v, m, "text")
	run, behind := h.input(v, "two"), h.input(v, "three")
	<-m.guest.prompts
	m.end("killed by the test")
	h.restored(v, m, "lost:killed")
	for _, r := range []id.Run{run, behind} {
		if got := h.waitRun(v, r, session.RunFailed); got.Failure.Code != event.SandboxLost {
			t.Errorf("failure is %+v", got.Failure)
		}
	}
	_, err := h.Input(context.Background(), h.team, v.Name, Input{Text: "hi"})
	wantFault(t, err, fault.Conflict, "run is terminal: its sandbox was lost")
	if s := h.saved(v); s.AcceptsInput() {
		t.Error("it says that it accepts input")
	}
}

// Machines that are gone when a server comes up: ready sessions come back at
// once, paused ones stay paused until somebody wakes them.
func TestMachinesGoneAtTheStart(t *testing.T) {
	ctx := context.Background()
	for name, c := range map[string]struct {
		before func(h *house, v View)
		wake   func(h *house, v View) error
		memory string
	}{
		"ready": {func(*house, View) {}, nil, "lost:gone"},
		"paused, resumed": {
			func(h *house, v View) { _, _ = h.Pause(ctx, h.team, v.Name) },
			func(h *house, v View) error { return h.Resume(ctx, h.team, v.Name) }, "lost:gone"},
		"paused, input": {
			func(h *house, v View) { _, _ = h.Pause(ctx, h.team, v.Name) },
			func(h *house, v View) error { _, err := h.Input(ctx, h.team, v.Name, Input{Text: "hi"}); return err }, "lost:gone"},
		"paused, a machine call": {
			func(h *house, v View) { _, _ = h.Pause(ctx, h.team, v.Name) },
			func(h *house, v View) error { _, err := h.ListFiles(ctx, h.team, v.Name, "."); return err }, "lost:gone"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newSavingHouse(t)
			v := h.create(demoSpec)
			m := h.driver.only(t)
			h.savedTurn(v, m, "text")
			c.before(h, v)
			h.stop()
			_ = h.driver.Destroy(ctx, m.handle)
			for range 2 { // and once more while it is lost
				h.start()
				if c.wake == nil {
					break
				}
				eventually(t, "the loss is noted", func() bool { return h.saved(v).Memory == c.memory })
				if s := h.saved(v); s.State != session.Paused || s.PauseReason != session.PauseManual {
					t.Fatalf("it is %s (%s)", s.State, s.PauseReason)
				}
				h.stop()
			}
			if c.wake != nil {
				h.start()
				if err := c.wake(h, v); err != nil {
					t.Fatal(err)
				}
			}
			back := h.restored(v, m, c.memory)
			if text, _ := back.read(); text != "text" {
				t.Errorf("the machine has %q", text)
			}
		})
	}
}

// A server that dies while it replaces a machine is followed by one that does.
func TestRestoreSurvivesTheServer(t *testing.T) {
	h := newSavingHouse(t)
	v := h.create(demoSpec)
	m := h.driver.only(t)
	h.savedTurn(v, m, "text")
	hangs := make(chan struct{})
	h.driver.mu.Lock()
	h.driver.hang = hangs
	h.driver.mu.Unlock()
	m.end("killed by the test")
	<-hangs
	h.waitState(v.ID, session.Updating)
	h.kill()
	h.start()
	back := h.restored(v, m, "lost:killed")
	if text, _ := back.read(); text != "text" {
		t.Errorf("the machine has %q", text)
	}
}

// Damaged files are never started from; a paused session is told so by who
// wakes it.
func TestDamagedFilesFailTheSession(t *testing.T) {
	h := newSavingHouse(t)
	v := h.create(demoSpec)
	m := h.driver.only(t)
	h.savedTurn(v, m, "text")
	saved := filepath.Join(h.saved(v).Saved.Folder, stubFile)
	if err := os.WriteFile(saved, []byte("texT"), 0o600); err != nil {
		t.Fatal(err)
	}
	m.end("killed by the test")
	if s := h.waitState(v.ID, session.Failed); !strings.Contains(s.Reason, "saved files are damaged") {
		t.Errorf("reason is %q", s.Reason)
	}
	if err := h.RemoveSession(context.Background(), h.team, v.ID.String()); err != nil {
		t.Fatal(err)
	}
	h.waitState(v.ID, session.Destroyed)
	if left, err := os.ReadDir(filepath.Join(h.dir, "recovery")); err != nil || len(left) > 0 {
		t.Errorf("saved files are left: %v, %v", left, err)
	}
}

// Files are saved when a session in use has not been saved for long, and when it
// is paused; not when nothing was done.
func TestFilesAreSavedBetweenRuns(t *testing.T) {
	ctx := context.Background()
	h := newSavingHouse(t)
	v := h.create(demoSpec + "keep_warm: false\n")
	m := h.driver.only(t)
	h.savedTurn(v, m, "text")
	list := func() {
		if _, err := h.ListFiles(ctx, h.team, v.Name, "."); err != nil {
			t.Fatal(err)
		}
	}
	waitSaves := func(want int) {
		t.Helper()
		eventually(t, "the files are saved", func() bool { _, n := m.read(); return n == want })
		eventually(t, "the save is over", func() bool {
			a := h.machineOf(v.ID)
			a.mu.Lock()
			defer a.mu.Unlock()
			return !a.saving.busy
		})
	}
	at := time.Now().Add(time.Hour)
	h.setClock(at)
	list()
	h.tick(at)
	waitSaves(2)
	h.tick(at.Add(30 * time.Second))
	if _, n := m.read(); n != 2 {
		t.Errorf("saved %d times though nothing was done", n)
	}
	h.setClock(at.Add(10 * time.Second))
	list()
	if _, err := h.Pause(ctx, h.team, v.Name); err != nil {
		t.Fatal(err)
	}
	waitSaves(3)
	if err := h.Resume(ctx, h.team, v.Name); err != nil {
		t.Fatal(err)
	}
	m.failSaves(errors.New("no space"))
	h.setClock(at.Add(5 * time.Minute))
	list()
	eventually(t, "the history says that files are not saved", func() bool {
		h.tick(at.Add(5 * time.Minute))
		for _, e := range h.history(v) {
			if e.Kind == event.RunLog && strings.Contains(string(e.Data), "could not be saved since") {
				return true
			}
		}
		return false
	})
}
