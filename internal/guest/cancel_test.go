package guest_test

import (
	"strings"
	"testing"
	"time"

	"paddock/internal/event"
	"paddock/internal/guestapi"
	"paddock/internal/id"
)

// speaking starts a turn and waits until the agent has said something.
func (m *machine) speaking(text string) id.Run {
	m.t.Helper()
	run := m.prompt(text)
	m.await("a piece", func() bool { return m.find(run, guestapi.ReportEvent, event.TokenDelta, &event.Delta{}) })
	return run
}

// A turn whose cancel was acked is cancelled, also where the agent does not heed
// it and completes, or has to be killed; then the conversation goes on all the
// same. What it used is told.
func TestCancelOfAnAgentThatDoesNotHeedIt(t *testing.T) {
	m := newMachine(t).demo()
	end, took := m.cancel(m.speaking("stubborn 8"))
	if end.Outcome != guestapi.EndCancelled || end.TokensOut < 1 || took > 5*time.Second {
		t.Errorf("an agent that completes: %+v after %v", end, took)
	}
	end, took = m.cancel(m.speaking("stubborn 1000"))
	if end.Outcome != guestapi.EndCancelled || end.Message != "" || took > 9*time.Second {
		t.Errorf("an agent that goes on: %+v after %v", end, took)
	}
	if end := m.turn("hello"); !strings.HasPrefix(end.Text, "turn 3: ") {
		t.Errorf("after the cancels: %+v", end)
	}
}

// A cancel is told apart that comes before its turn, which then never begins,
// and one that comes after it.
func TestCancelBesideTheTurn(t *testing.T) {
	m := newMachine(t).demo()
	g, never := m.guest(), id.New[id.Run]()
	for range 2 {
		if outcome, err := g.Cancel(m.ctx(), never); err != nil || outcome != guestapi.CancelNoTurn {
			t.Errorf("before the turn: %v %v", outcome, err)
		}
	}
	if err := g.Prompt(m.ctx(), never, guestapi.Prompt{Text: "never"}); err != nil {
		t.Error(err)
	}
	run := m.prompt("hello")
	if end := m.end(run); !strings.HasPrefix(end.Text, "turn 1: ") {
		t.Errorf("the turn before was played: %+v", end)
	}
	if outcome, err := g.Cancel(m.ctx(), run); err != nil || outcome != guestapi.CancelEnded {
		t.Errorf("after the turn: %v %v", outcome, err)
	}
}

// A guest that comes back learns which run is active, and ends the turn of
// another: the host has given that up meanwhile.
func TestTurnThatTheHostGaveUp(t *testing.T) {
	m := newMachine(t).demo()
	run := m.speaking("slow 1000")
	reconnect := func(active string) {
		m.change(func() { m.active = &active })
		link := m.guest()
		link.Close()
		m.await("another connection", func() bool { return m.link != link })
	}
	reconnect(run.String())
	m.await("more pieces", func() bool { return strings.Contains(string(m.reports[len(m.reports)-1].Data), "8") })
	reconnect("")
	if end := m.end(run); end.Outcome != guestapi.EndCancelled {
		t.Errorf("%+v", end)
	}
	if end := m.turn("hello"); end.Outcome != guestapi.EndCompleted {
		t.Errorf("the next turn: %+v", end)
	}
}
