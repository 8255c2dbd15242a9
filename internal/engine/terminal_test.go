package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"paddock/internal/approval"
	"paddock/internal/event"
	"paddock/internal/guestapi"
	"paddock/internal/id"
	"paddock/internal/session"
	"paddock/internal/store"
)

// chaos is a session whose guest, callers, clock and server do what they like.
type chaos struct {
	*house
	r    *rand.Rand
	v    View
	m    *stubMachine
	runs []id.Run // in the order of their inputs
	asks int
	did  []string
}

// run gives any of the runs there were, the newer ones more often, or one that
// never was.
func (c *chaos) run() id.Run {
	if len(c.runs) == 0 || c.r.IntN(20) == 0 {
		return id.New[id.Run]()
	}
	return c.runs[max(0, len(c.runs)-1-c.r.IntN(5))]
}

// steps are what may happen at any time, of which nothing is an error.
func (c *chaos) steps() map[string]func() {
	ctx := context.Background()
	report := func(kind guestapi.ReportType, of event.Kind, data any) {
		c.m.guest.report(c.t, c.run(), kind, of, data)
	}
	return map[string]func(){
		"input": func() {
			if run, err := c.Input(ctx, c.team, c.v.ID.String(), Input{Text: "x"}); err == nil {
				c.runs = append(c.runs, run)
			}
		},
		"more input": func() {
			if run, err := c.Input(ctx, c.team, c.v.ID.String(), Input{Text: "x"}); err == nil {
				c.runs = append(c.runs, run)
			}
		},
		"say":       func() { report(guestapi.ReportEvent, event.TokenDelta, event.Delta{Text: "x"}) },
		"completed": func() { report(guestapi.ReportEnd, "", guestapi.End{Outcome: guestapi.EndCompleted}) },
		"cancelled": func() { report(guestapi.ReportEnd, "", guestapi.End{Outcome: guestapi.EndCancelled}) },
		"failed": func() {
			if c.r.IntN(10) == 0 { // else the conversation were over too soon
				report(guestapi.ReportEnd, "", guestapi.End{Outcome: guestapi.EndFailed, Code: event.ToolError, Message: "x"})
			}
		},
		"ask": func() {
			c.asks++
			report(guestapi.ReportAsk, "", guestapi.Ask{Key: fmt.Sprint(c.asks), Action: event.ActionBash})
		},
		"answer": func() {
			open, _ := c.Approvals(ctx, c.team, c.v.ID.String(), true)
			for _, a := range open {
				_ = c.Answer(ctx, c.team, c.v.ID.String(), a.ID.String(), Answer{Outcome: approval.OutcomeApprove})
			}
		},
		"cancel": func() { c.cancelSome(c.run()) },
		"pause":  func() { _, _ = c.Pause(ctx, c.team, c.v.ID.String()) },
		"resume": func() { _ = c.Resume(ctx, c.team, c.v.ID.String()) },
		"away":   func() { c.m.guest.stayAway(true); c.m.guest.stayAway(false) },
		"restart": func() {
			c.stop()
			c.start()
		},
	}
}

// cancelSome cancels a run in the background: a cancel waits for its guest.
func (c *chaos) cancelSome(run id.Run) {
	e := c.Engine
	e.spawn(func(ctx context.Context) { _, _ = e.Cancel(ctx, c.team, c.v.ID.String(), run.String(), "me") })
}

// Whatever happens in whatever order, each run has one terminal event and
// nothing after it, runs start in the order of their inputs, one at a time, and
// none is forgotten.
func TestEachRunEndsOnce(t *testing.T) {
	for seed := range uint64(25) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			c := &chaos{house: newHouse(t), r: rand.New(rand.NewPCG(seed, 1))}
			c.v = c.create(demoSpec + "max_run_time: 1h\n")
			c.m = c.driver.only(t)
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("what was done: %v", c.did)
				}
			})
			steps := c.steps()
			var names []string
			for name := range steps {
				names = append(names, name)
			}
			slices.Sort(names)
			for range 40 {
				name := names[c.r.IntN(len(names))]
				c.did = append(c.did, name)
				steps[name]()
			}
			c.finish()
			c.check()
		})
	}
}

// finish ends the session in one of the ways in which sessions end.
func (c *chaos) finish() {
	c.t.Helper()
	ctx := context.Background()
	how := c.r.IntN(3)
	c.did = append(c.did, []string{"lose the machine", "remove", "let it finish"}[how])
	switch how {
	case 0:
		c.m.end("killed by the test")
		c.waitState(c.v.ID, session.Failed)
	case 1:
		if err := c.RemoveSession(ctx, c.team, c.v.ID.String()); err != nil {
			c.t.Fatal(err)
		}
		c.waitState(c.v.ID, session.Destroyed)
	default:
		eventually(c.t, "every run has ended", func() bool {
			_ = c.Resume(ctx, c.team, c.v.ID.String())
			r, err := activeRun(ctx, c.store, c.v.ID)
			if err != nil {
				c.t.Fatal(err)
			}
			if r != nil {
				c.m.guest.report(c.t, r.ID, guestapi.ReportEnd, "", guestapi.End{Outcome: guestapi.EndCompleted})
			}
			open, err := c.store.Runs(ctx, store.RunFilter{Session: c.v.ID, States: []session.RunState{session.RunQueued, session.RunRunning, session.RunAwaiting}})
			return err == nil && len(open) == 0
		})
	}
}

func (c *chaos) check() {
	c.t.Helper()
	var started []id.Run
	ended := map[id.Run]event.Kind{}
	var active id.Run
	for _, e := range c.history(c.v) {
		if e.Run.IsZero() {
			continue
		}
		if was, over := ended[e.Run]; over {
			c.t.Errorf("%s comes after %s in run %s", e.Kind, was, e.Run)
		}
		switch {
		case e.Kind == event.RunStarted:
			if !active.IsZero() {
				c.t.Errorf("run %s started while %s was active", e.Run, active)
			}
			active, started = e.Run, append(started, e.Run)
		case e.Run != active && !e.Kind.Terminal():
			c.t.Errorf("%s of run %s, which is not active", e.Kind, e.Run)
		}
		if e.Kind.Terminal() {
			ended[e.Run] = e.Kind
			if e.Run == active {
				active = id.Run{}
			}
		}
	}
	inOrder := slices.DeleteFunc(slices.Clone(c.runs), func(r id.Run) bool { return !slices.Contains(started, r) })
	if !slices.Equal(started, inOrder) {
		c.t.Errorf("runs started as %v, their inputs came as %v", started, inOrder)
	}
	for _, run := range c.runs {
		r, err := c.store.Run(context.Background(), c.v.ID, run)
		if err != nil || !r.State.Ended() || r.EndedAt.IsZero() {
			c.t.Errorf("run %s is %s, ended %v, %v", run, r.State, r.EndedAt, err)
		}
		want := event.RunFailed
		if r.State == session.RunCompleted {
			want = event.RunCompleted
		}
		if ended[run] != want {
			c.t.Errorf("run %s is %s, its history ends with %q", run, r.State, ended[run])
		}
	}
}
