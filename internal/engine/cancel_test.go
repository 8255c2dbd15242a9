package engine

import (
	"context"
	"slices"
	"testing"
	"time"

	"paddock/internal/event"
	"paddock/internal/guestapi"
	"paddock/internal/id"
	"paddock/internal/session"
)

// cancelling cancels a run in the background; the result comes when it is known
// what the cancel met.
func (h *house) cancelling(v View, run id.Run) <-chan CancelResult {
	h.t.Helper()
	result := make(chan CancelResult, 1)
	e := h.Engine
	go func() {
		r, err := e.Cancel(context.Background(), h.team, v.Name, run.String(), "me")
		if err != nil {
			h.t.Logf("cancel: %v", err)
		}
		result <- r
	}()
	eventually(h.t, "the cancel is stored", func() bool {
		r, err := h.store.Run(context.Background(), v.ID, run)
		return err == nil && !r.CancelAt.IsZero()
	})
	return result
}

// An agent that was done before the cancel reached it has completed its run, and
// whoever cancelled is told so.
func TestCancelThatComesTooLate(t *testing.T) {
	h := newHouse(t)
	v, m, run := h.working(demoSpec)
	m.guest.onCancel = func() {
		m.guest.mu.Lock()
		m.guest.ended[run] = true // and its end is on the way
		m.guest.mu.Unlock()
	}
	met := h.cancelling(v, run)
	m.guest.endTurn(t, run, guestapi.End{Outcome: guestapi.EndCompleted, Text: "done"})
	if r := <-met; r.Outcome != guestapi.CancelNoTurn {
		t.Errorf("the cancel met %s", r.Outcome)
	}
	h.waitRun(v, run, session.RunCompleted)
}

// A cancel that cannot reach the guest is carried out when it is back, and a run
// whose prompt never came to it does not start there.
func TestCancelWhileTheGuestIsAway(t *testing.T) {
	for _, begun := range []bool{true, false} {
		h := newHouse(t)
		v := h.create(demoSpec)
		g := h.driver.only(t).guest
		if !begun {
			g.stayAway(true)
		}
		run := h.input(v, "one")
		if begun {
			<-g.prompts
			g.stayAway(true)
		}
		next := h.input(v, "two")
		met := h.cancelling(v, run)
		g.stayAway(false)
		if r := <-met; r.Outcome != guestapi.CancelAcked {
			t.Errorf("begun %v: the cancel met %q", begun, r.Outcome)
		}
		if begun {
			g.endTurn(t, run, guestapi.End{Outcome: guestapi.EndCancelled})
		}
		if r := h.waitRun(v, run, session.RunCancelled); r.Failure.Message != "cancelled by me" {
			t.Errorf("failure is %+v", r.Failure)
		}
		if got := <-g.prompts; got != next {
			t.Errorf("begun %v: the guest was given %s, want the next run %s", begun, got, next)
		}
	}
}

// A cancel that was stored is carried out by the next server, also when the guest
// is never heard of again; a guest that comes back is told which run is active.
func TestCancelOutlivesTheServerAndTheGuest(t *testing.T) {
	h := newHouse(t)
	v, m, run := h.working(demoSpec)
	next := h.input(v, "two")
	m.guest.stayAway(true)
	met := h.cancelling(v, run)
	h.stop()
	<-met
	h.setClock(time.Now().Add(time.Minute))
	h.start()
	if r := h.waitRun(v, run, session.RunCancelled); r.Failure.Message != "cancelled by me" || r.Failure.Terminal {
		t.Errorf("failure is %+v", r.Failure)
	}
	h.waitRun(v, next, session.RunRunning)
	m.guest.stayAway(false)
	if got := <-m.guest.prompts; got != next {
		t.Errorf("guest was given %s", got)
	}
	m.guest.mu.Lock()
	active := m.guest.up.Welcome().Active
	m.guest.mu.Unlock()
	if active == nil || *active != next.String() {
		t.Errorf("the guest was told that %v is active", active)
	}
	m.guest.say(t, run, "late") // dropped
	if got, want := kinds(h.history(v), run), []event.Kind{event.RunStarted, event.RunFailed}; !slices.Equal(got, want) {
		t.Errorf("events of the cancelled run are %v", got)
	}
}

// Two who cancel at once are told the same, and the first is named.
func TestCancelTwice(t *testing.T) {
	h := newHouse(t)
	v, m, run := h.working(demoSpec)
	first := h.cancelling(v, run)
	second, err := h.Cancel(context.Background(), h.team, v.Name, "", "you")
	if one := <-first; err != nil || one.Outcome != guestapi.CancelAcked || second != one {
		t.Errorf("met %+v and %+v, %v", one, second, err)
	}
	m.guest.endTurn(t, run, guestapi.End{Outcome: guestapi.EndCancelled})
	if r := h.waitRun(v, run, session.RunCancelled); r.Failure.Message != "cancelled by me" {
		t.Errorf("failure is %+v", r.Failure)
	}
}

// A pause that waits for the run comes after its cancel, before the next run.
func TestCancelWithAPausePending(t *testing.T) {
	h := newHouse(t)
	v, m, run := h.working(demoSpec)
	next := h.input(v, "two")
	if pending, err := h.Pause(context.Background(), h.team, v.Name); !pending || err != nil {
		t.Fatal(pending, err)
	}
	if r := <-h.cancelling(v, run); r.Outcome != guestapi.CancelAcked {
		t.Errorf("the cancel met %s", r.Outcome)
	}
	m.guest.endTurn(t, run, guestapi.End{Outcome: guestapi.EndCancelled})
	h.waitState(v.ID, session.Paused)
	h.waitRun(v, run, session.RunCancelled)
	if r, err := h.Cancel(context.Background(), h.team, v.Name, next.String(), "me"); err != nil || r.Outcome != guestapi.CancelAcked {
		t.Errorf("cancel of a queued run of a paused session: %+v, %v", r, err)
	}
	if got, want := kinds(h.history(v), next), []event.Kind{event.RunFailed}; !slices.Equal(got, want) {
		t.Errorf("events of the cancelled queued run are %v", got)
	}
}
