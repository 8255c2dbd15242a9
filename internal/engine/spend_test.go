package engine

import (
	"context"
	"math"
	"testing"
	"time"

	"paddock/internal/approval"
	"paddock/internal/event"
	"paddock/internal/guestapi"
	"paddock/internal/session"
)

// What a turn used is told by its run also when the turn did not complete, and
// nothing that a guest counts makes it go down or over.
func TestRunsTellWhatTheyUsed(t *testing.T) {
	usage := func(in, out int64) event.Usage {
		return event.Usage{StepID: "turn", Usage: event.Tokens{Input: in, Output: out}}
	}
	for name, c := range map[string]struct {
		usage           []event.Usage
		cost            []int64
		end             guestapi.End
		state           session.RunState
		in, out, micros int64
	}{
		"totals of the end":  {[]event.Usage{usage(1, 2)}, []int64{5}, guestapi.End{Outcome: guestapi.EndCompleted, TokensIn: 10, TokensOut: 20, CostMicros: 7}, session.RunCompleted, 10, 20, 7},
		"none at the end":    {[]event.Usage{usage(1, 2), usage(3, 4)}, []int64{5, 6}, guestapi.End{Outcome: guestapi.EndCompleted}, session.RunCompleted, 4, 6, 11},
		"failed":             {[]event.Usage{usage(1, 2)}, []int64{5}, guestapi.End{Outcome: guestapi.EndFailed, Code: event.ModelError}, session.RunFailed, 1, 2, 5},
		"too much, negative": {[]event.Usage{usage(math.MaxInt64, 1), usage(math.MaxInt64, 1)}, []int64{5, -100}, guestapi.End{Outcome: guestapi.EndFailed, Code: event.ModelError}, session.RunFailed, math.MaxInt64, 2, 5},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			v, m, run := h.working(demoSpec)
			for _, u := range c.usage {
				m.guest.report(t, run, guestapi.ReportEvent, event.UsageRecorded, u)
			}
			for _, delta := range c.cost {
				m.guest.report(t, run, guestapi.ReportEvent, event.CostAccrued, event.Cost{DeltaMicros: delta})
			}
			m.guest.endTurn(t, run, c.end)
			r := h.waitRun(v, run, c.state)
			if r.TokensIn != c.in || r.TokensOut != c.out || r.CostMicros != c.micros {
				t.Errorf("the run used %d and %d tokens and %d micros, want %d, %d, %d", r.TokensIn, r.TokensOut, r.CostMicros, c.in, c.out, c.micros)
			}
			if s := h.view(v.Name); s.Usage != r.Usage {
				t.Errorf("the session used %+v, its only run %+v", s.Usage, r.Usage)
			}
		})
	}
}

// The time in which a run waits for people does not count toward its limit,
// however its questions overlap.
func TestPeoplesTimeIsNotTheRuns(t *testing.T) {
	for name, order := range map[string][]int{"first first": {0, 1}, "last first": {1, 0}} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			ctx := context.Background()
			start := time.Now()
			h.setClock(start)
			v, m, run := h.working(demoSpec + "max_run_time: 1h\n")
			ask := func(at time.Duration, key string) {
				h.setClock(start.Add(at))
				m.guest.report(t, run, guestapi.ReportAsk, "", guestapi.Ask{Key: key, Action: event.ActionBash, Details: event.AskDetails{Command: "ls"}})
			}
			ask(10*time.Minute, "a")
			ask(20*time.Minute, "b")
			open, err := h.Approvals(ctx, h.team, v.Name, true)
			if err != nil || len(open) != 2 {
				t.Fatal(open, err)
			}
			for i, which := range order {
				h.setClock(start.Add(time.Duration(i+3) * time.Hour))
				if err := h.Answer(ctx, h.team, v.Name, open[which].ID.String(), Answer{Outcome: approval.OutcomeApprove}); err != nil {
					t.Fatal(err)
				}
			}
			r := h.waitRun(v, run, session.RunRunning)
			if left := r.Deadline.Sub(start.Add(4 * time.Hour)).Round(time.Second); left != 50*time.Minute {
				t.Errorf("%v are left of an hour of which ten minutes were worked", left)
			}
		})
	}
}

// A session has used what its runs have used, also while one is working and
// where the total at the end of a run is not what was added up on the way.
func TestSessionsTellWhatTheyUsed(t *testing.T) {
	h := newHouse(t)
	v, m, run := h.working(demoSpec)
	tokens := func(in, out int64) event.Usage {
		return event.Usage{StepID: "turn", Usage: event.Tokens{Input: in, Output: out}}
	}
	m.guest.report(t, run, guestapi.ReportEvent, event.UsageRecorded, tokens(100, 10))
	eventually(t, "the session tells of the working run", func() bool {
		return h.view(v.Name).Usage == session.Usage{TokensIn: 100, TokensOut: 10}
	})
	m.guest.endTurn(t, run, guestapi.End{Outcome: guestapi.EndCompleted, TokensIn: 70, TokensOut: 20, CostMicros: 5})
	h.waitRun(v, run, session.RunCompleted)
	next := h.input(v, "two")
	<-m.guest.prompts
	m.guest.report(t, next, guestapi.ReportEvent, event.CostAccrued, event.Cost{DeltaMicros: 3})
	m.guest.endTurn(t, next, guestapi.End{Outcome: guestapi.EndFailed, Code: event.ModelError, TokensIn: 1})
	h.waitRun(v, next, session.RunFailed)
	if got, want := h.view(v.Name).Usage, (session.Usage{TokensIn: 71, TokensOut: 20, CostMicros: 8}); got != want {
		t.Errorf("the session used %+v, want %+v", got, want)
	}
}
