package engine

import (
	"context"
	"strings"

	"paddock/internal/event"
	"paddock/internal/failpoint"
	"paddock/internal/fault"
	"paddock/internal/guestapi"
	"paddock/internal/id"
	"paddock/internal/session"
	"paddock/internal/store"
)

// Input gives the agent something to do: a run that starts at once when the
// session is at a boundary, else waits its turn. A paused session is resumed
// first. The run is durable when Input returns.
func (e *Engine) Input(ctx context.Context, team id.Team, ref string, in Input) (id.Run, error) {
	if strings.TrimSpace(in.Text) == "" {
		return id.Run{}, fault.New(fault.BadRequest, "text is empty; say what the agent is to do")
	}
	if len(in.Text) > guestapi.MaxPrompt {
		return id.Run{}, fault.New(fault.TooLarge, "text has %d bytes, at most %d are accepted; put long material into a file of the workspace", len(in.Text), guestapi.MaxPrompt)
	}
	if err := in.Once.check(ctx, e.store, team, e.now()); err != nil {
		return id.Run{}, err // whatever has become of the session since
	}
	s, err := e.find(ctx, team, ref)
	if err != nil {
		return id.Run{}, err
	}
	for {
		if err := acceptsInput(s); err != nil {
			return id.Run{}, err
		}
		if s.State == session.Paused {
			if err := e.wakeSession(ctx, s.ID); err != nil {
				return id.Run{}, err
			}
		}
		run, err := e.enqueue(ctx, s.ID, in)
		if !fault.Is(err, errAsleep) {
			return run, err
		}
		// Paused between the two: wake it again.
		if s, err = e.store.SessionByID(ctx, s.ID); err != nil {
			return id.Run{}, err
		}
	}
}

// errAsleep is how enqueue says that the session was paused meanwhile.
const errAsleep fault.Code = "asleep"

// acceptsInput refuses what no waking could help: of a session that exists, a
// conversation that has ended comes before every other reason.
func acceptsInput(s session.Session) error {
	switch {
	case s.State == session.Destroying, s.State == session.Destroyed:
		return fault.New(fault.Conflict, "%s", notNow(s))
	case s.Terminal != "":
		return fault.New(fault.Conflict, "run is terminal: %s; start a new session (no checkpoint was made to fork from or to roll back to)", strings.TrimSuffix(s.Terminal, "."))
	case s.Adapter == "none":
		return fault.New(fault.Conflict, "session %s has no agent; use exec, or create a session with one", s.Name)
	case s.State != session.Ready && s.State != session.Paused:
		return fault.New(fault.Conflict, "%s", notNow(s))
	}
	return nil
}

// enqueue makes the run and, at a boundary, starts it in the same transaction.
func (e *Engine) enqueue(ctx context.Context, sid id.Session, in Input) (id.Run, error) {
	run := session.Run{ID: id.New[id.Run](), Session: sid, Text: in.Text, SourceRaw: in.SourceRaw, State: session.RunQueued, Trace: string(e.trace.Lay(ctx))}
	err := e.change(ctx, sid, func(c *change) error {
		if err := in.Once.check(ctx, c.tx, c.s.Team, c.now); err != nil {
			return err
		}
		if err := acceptsInput(c.s); err != nil {
			return err
		}
		if c.s.State == session.Paused {
			return fault.New(errAsleep, "%s", notNow(c.s))
		}
		waiting, err := c.tx.Runs(ctx, store.RunFilter{Session: sid, States: []session.RunState{session.RunQueued}, Limit: session.MaxQueued})
		if err != nil {
			return err
		}
		if len(waiting) >= session.MaxQueued {
			return fault.New(fault.TooManyRequests, "%d inputs already wait in session %s; wait for a run to end or cancel one", session.MaxQueued, c.s.Name)
		}
		run.CreatedAt = c.now
		if err := c.tx.SaveRun(run); err != nil {
			return err
		}
		if err := in.Once.keep(c.tx, c.s.Team, c.now, run.ID); err != nil {
			return err
		}
		return e.startNext(c)
	})
	if err != nil {
		return id.Run{}, err
	}
	failpoint.Hit("input.stored")
	if m := e.machineOf(sid); m != nil {
		m.touch()
	}
	return run.ID, nil
}

// startNext starts the first queued run, if the session is at a boundary and
// nothing else is to happen there first.
func (e *Engine) startNext(c *change) error {
	if c.s.State != session.Ready || c.s.PausePending != "" {
		return nil
	}
	if r, err := c.active(); err != nil || r != nil {
		return err
	}
	queued, err := c.tx.Runs(c.ctx, store.RunFilter{Session: c.s.ID, States: []session.RunState{session.RunQueued}, Limit: 1})
	if err != nil || len(queued) == 0 {
		return err
	}
	env, err := c.tx.Environment(c.ctx, c.s.Environment)
	if err != nil {
		return err
	}
	r := queued[0]
	if r.State, err = r.State.On(session.RunStart); err != nil {
		return err
	}
	r.StartedAt, r.Deadline = c.now, c.now.Add(env.Spec.MaxRunTime)
	if err := c.tx.SaveRun(r); err != nil {
		return err
	}
	c.emit(r.ID, event.RunStarted, event.Started{Agent: c.s.Adapter, Text: r.Text})
	c.later(func() { e.beginTurn(r) })
	return nil
}

// beginTurn gives a started run to the guest, in the background. A lost
// connection is no matter: the turn is given again when the guest is back.
func (e *Engine) beginTurn(r session.Run) {
	m := e.machineOf(r.Session)
	if m == nil {
		return
	}
	m.runUntil(r.Deadline)
	e.spawn(func(ctx context.Context) {
		if _, err := m.guest(ctx); err != nil {
			return
		}
		e.givePrompt(ctx, m, r)
	})
}
