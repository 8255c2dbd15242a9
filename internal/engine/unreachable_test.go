package engine

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"paddock/internal/event"
	"paddock/internal/fault"
	"paddock/internal/guestapi"
	"paddock/internal/session"
)

// hasten shortens what a guest has for an answer to d.
func (h *house) hasten(d time.Duration) { h.patience = d - execPoll }

// A guest that has been away for too long is lost, and its machine with it: the
// run fails, and the session too when nothing of it was saved.
func TestGuestThatStaysAway(t *testing.T) {
	h := newHouse(t)
	h.setClock(time.Now())
	h.hasten(100 * time.Millisecond)
	v, m, run := h.working(demoSpec)
	m.guest.stayAway(true)
	eventually(t, "the connection is down", func() bool {
		hm := h.machineOf(v.ID)
		hm.mu.Lock()
		defer hm.mu.Unlock()
		return hm.link == nil
	})
	h.setClock(h.now().Add(unreachableLimit))
	h.tick(h.now())
	r := h.waitRun(v, run, session.RunFailed)
	if r.Failure.Code != event.SandboxLost || !r.Failure.Terminal || !strings.Contains(r.Failure.Message, "not answered for 2m0s") {
		t.Errorf("failure is %+v", r.Failure)
	}
	if s := h.waitState(v.ID, session.Failed); !strings.Contains(s.Reason, "not answered for 2m0s") {
		t.Errorf("the session failed because %s", s.Reason)
	}
	h.settled(v)
	if left, _ := h.driver.Leftovers(context.Background()); len(left) > 0 {
		t.Errorf("machines are left: %v", left)
	}
}

// One that is connected and says nothing is found out by the first call that it
// does not answer; its session comes back with the files that were saved.
func TestGuestThatSaysNothing(t *testing.T) {
	h := newSavingHouse(t)
	h.hasten(100 * time.Millisecond)
	v := h.create(demoSpec)
	m := h.driver.only(t)
	h.savedTurn(v, m, "text")
	m.guest.answerExecs(silent)
	_, err := h.Exec(context.Background(), h.team, v.Name, ExecRequest{Argv: []string{"true"}})
	wantFault(t, err, fault.BadGateway, "does not answer")
	back := h.restored(v, m, "lost:unreachable")
	if text, _ := back.read(); text != "text" {
		t.Errorf("the machine has %q", text)
	}
}

// Sandboxes that hang while their files are saved do not keep those of others
// from being saved, and are found out.
func TestHungSavesAreGivenUp(t *testing.T) {
	h := newSavingHouse(t)
	h.hasten(100 * time.Millisecond)
	h.stall = 200 * time.Millisecond
	hung := map[*stubMachine]View{}
	for range savesAtOnce {
		v := h.create(demoSpec)
		for _, m := range h.driver.machines {
			if _, known := hung[m]; !known {
				hung[m] = v
				h.savedTurn(v, m, "text")
				m.hangSaves()
				m.guest.answerExecs(silent)
				eventually(t, "a save hangs", func() bool {
					h.touch(v)
					return m.hangs()
				})
			}
		}
	}
	v := h.create(demoSpec)
	for _, m := range h.driver.machines {
		if _, known := hung[m]; !known {
			h.savedTurn(v, m, "saved beside them")
		}
	}
	for old, v := range hung {
		eventually(t, "the session is back", func() bool {
			now := h.saved(v)
			if now.Sandbox.String() == old.handle.ID {
				h.touch(v) // an inquiry during a save finds nothing out; the next save asks again
			}
			return now.Memory == "lost:unreachable" && now.Sandbox.String() != old.handle.ID && now.State == session.Ready
		})
	}
}

// touch has the files of a machine saved once more, if nobody is at it.
func (h *house) touch(v View) {
	hm := h.machineOf(v.ID)
	if hm == nil {
		return
	}
	hm.mu.Lock()
	idle := !hm.saving.busy && !hm.asking
	hm.saving.next = time.Time{}
	hm.mu.Unlock()
	if idle {
		h.saveSoon(hm)
	}
}

// A run that reports nothing is a reason to ask.
func TestSilentRunOfADeadGuest(t *testing.T) {
	h := newHouse(t)
	h.setClock(time.Now())
	h.hasten(100 * time.Millisecond)
	v, m, run := h.working(demoSpec)
	m.guest.answerExecs(silent)
	h.setClock(h.now().Add(silenceLimit))
	h.tick(h.now())
	if r := h.waitRun(v, run, session.RunFailed); r.Failure.Code != event.SandboxLost {
		t.Errorf("failure is %+v", r.Failure)
	}
}

// A guest that answers late, and one whose files are being saved, are not lost.
func TestSlowGuestIsNotLost(t *testing.T) {
	ctx := context.Background()
	for name, help := range map[string]func(h *house, v View, g *stubGuest){
		"answers the last question": func(_ *house, _ View, g *stubGuest) {
			var asked atomic.Int32
			g.answerExecs(func(ctx context.Context) (guestapi.ExecProgress, error) {
				if int(asked.Add(1)) < unreachableTries {
					return silent(ctx)
				}
				return doneExec(ctx)
			})
		},
		"is being saved": func(h *house, v View, _ *stubGuest) {
			m := h.machineOf(v.ID)
			m.mu.Lock()
			defer m.mu.Unlock()
			m.saving.busy = true
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			h.hasten(time.Second)
			v := h.create(demoSpec)
			g := h.driver.only(t).guest
			g.answerExecs(silent)
			m := h.machineOf(v.ID)
			help(h, v, g)
			m.doubt()
			eventually(t, "the inquiry is over", func() bool {
				m.mu.Lock()
				defer m.mu.Unlock()
				return !m.asking
			})
			// What would be lost would be so in its turn.
			if err := h.actor(v.ID).do(ctx, func(context.Context) error { return nil }); err != nil {
				t.Fatal(err)
			}
			if s, err := h.store.SessionByID(ctx, v.ID); err != nil || s.State == session.Failed || h.machineOf(v.ID) != m {
				t.Errorf("the session is %s (%v)", s.State, err)
			}
		})
	}
}

// One that is paused owes no answer, for however long.
func TestPausedGuestIsNotLost(t *testing.T) {
	h := newHouse(t)
	h.hasten(100 * time.Millisecond)
	ctx := context.Background()
	v := h.create(demoSpec)
	g := h.driver.only(t).guest
	m := h.machineOf(v.ID)
	if _, err := h.Pause(ctx, h.team, v.Name); err != nil {
		t.Fatal(err)
	}
	g.answerExecs(silent)
	m.doubt()
	h.wantHeld(v, m, time.Second) // more than the questions take
	g.answerExecs(doneExec)
	if err := h.Resume(ctx, h.team, v.Name); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Exec(ctx, h.team, v.Name, ExecRequest{Argv: []string{"true"}}); err != nil {
		t.Error(err)
	}
}

// wantHeld asserts that a session keeps its machine for a while.
func (h *house) wantHeld(v View, m *machine, while time.Duration) {
	h.t.Helper()
	select {
	case <-m.gone:
		h.t.Error("the machine was given up")
	case <-time.After(while):
	}
}
