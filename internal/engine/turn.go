package engine

import (
	"context"
	"errors"
	"time"

	"paddock/internal/approval"
	"paddock/internal/event"
	"paddock/internal/failpoint"
	"paddock/internal/fault"
	"paddock/internal/guestapi"
	"paddock/internal/id"
	"paddock/internal/session"
	"paddock/internal/store"
)

// turnHandover is how long a guest may still be busy with a turn that we hold
// for ended, before the next one is called failed. It covers the 10 s in which
// a cancelled turn ends.
const turnHandover = 15 * time.Second

// givePrompt hands a running run to the guest. Giving it twice starts it once.
func (e *Engine) givePrompt(ctx context.Context, m *machine, r session.Run) {
	ctx, cancel := context.WithTimeout(ctx, turnHandover)
	defer cancel()
	defer m.rouse(ctx)()
	for {
		g, err := m.guest(ctx)
		if err != nil {
			return // given again when the guest is back
		}
		if fresh, err := e.store.Run(ctx, r.Session, r.ID); err != nil || !fresh.State.Active() || !fresh.CancelAt.IsZero() {
			return // it came to its end while the guest was away or busy
		}
		err = g.Prompt(ctx, r.ID, guestapi.Prompt{Text: r.Text, SourceRaw: r.SourceRaw})
		failpoint.Hit("turn.given")
		var refused *fault.Error
		if err == nil || !errors.As(err, &refused) {
			return
		}
		if refused.Code == fault.Conflict {
			select {
			case <-time.After(100 * time.Millisecond):
				continue
			case <-ctx.Done():
			}
		}
		if e.ctx.Err() != nil {
			return
		}
		e.failRun(m.session, r.ID, event.Failed{Code: event.Internal, Message: "the agent could not be given the input: " + refused.Message, Terminal: true})
		return
	}
}

// resumeTurn brings a guest that has just connected up to date: the active run
// and every answer it may have missed. All of it is idempotent.
func (e *Engine) resumeTurn(ctx context.Context, m *machine) {
	r, err := activeRun(ctx, e.store, m.session)
	if err != nil {
		e.log.Error("read active run", "session_id", m.session, "error", err)
		return
	}
	if r != nil {
		if r.State == session.RunRunning {
			m.runUntil(r.Deadline)
			m.listenAfter(silenceSettle)
		}
		e.givePrompt(ctx, m, *r)
		e.repeatAnswers(ctx, m, r.ID)
	}
	e.boundary(m.session)
}

// takeUpRun goes on with the active run of a session whose machine was just
// adopted: its limits hold also when its guest never calls again.
func (e *Engine) takeUpRun(ctx context.Context, m *machine) {
	r, err := activeRun(ctx, e.store, m.session)
	if err != nil || r == nil {
		return // an error shows when the guest is back
	}
	e.findCalls(ctx, m, r.ID)
	if r.State == session.RunRunning {
		m.runUntil(r.Deadline)
		m.listenAfter(silenceSettle)
	}
	if !r.CancelAt.IsZero() {
		e.spawn(func(ctx context.Context) { e.carryOutCancel(ctx, *r, make(chan guestapi.CancelOutcome, 1)) })
	}
}

// boundary does what is due when a session may have come to a boundary: a
// pending pause first, else the next queued run.
func (e *Engine) boundary(sid id.Session) {
	ctx := e.ctx
	err := e.change(ctx, sid, func(c *change) error {
		if c.s.State != session.Ready {
			return errNoChange
		}
		if c.s.PausePending != "" {
			c.later(func() { e.pauseInTurn(sid) })
			return nil
		}
		return e.startNext(c)
	})
	if err == nil || ctx.Err() != nil || errors.Is(err, store.ErrNotFound) {
		return
	}
	e.log.Error("go on at boundary", "session_id", sid, "error", err)
	e.spawn(func(ctx context.Context) { // else what waits there would wait for ever
		select {
		case <-time.After(pauseRetry):
			e.boundary(sid)
		case <-ctx.Done():
		}
	})
}

// endRun ends one run with its only terminal event, and whatever waits in it.
// The event's Name is filled in.
func (e *Engine) endRun(c *change, r *session.Run, cause session.RunCause, end event.Failed) error {
	next, err := r.State.On(cause)
	if err != nil {
		return err
	}
	wasActive := r.State.Active()
	if wasActive {
		if err := e.showHeld(c); err != nil {
			return err
		}
	}
	if err := e.expireApprovals(c, r.ID); err != nil {
		return err
	}
	end.Name, end.Message = end.Code.Name(), c.veil.Text(end.Message)
	end.Terminal = end.Terminal && wasActive
	r.State, r.EndedAt, r.AwaitingSince = next, c.now, time.Time{}
	r.Failure = &session.Failure{Code: end.Code, Message: end.Message, Terminal: end.Terminal}
	hideInput(r, c.veil)
	if err := c.tx.SaveRun(*r); err != nil {
		return err
	}
	c.emit(r.ID, event.RunFailed, end)
	e.traceRun(c, *r)
	if end.Terminal {
		c.s.Terminal, c.dirty = end.Message, true
	}
	e.turnOver(c, *r, wasActive)
	return nil
}

// turnOver puts off what follows the end of an active run.
func (e *Engine) turnOver(c *change, r session.Run, wasActive bool) {
	if !wasActive {
		return
	}
	c.later(func() {
		if m := e.machineOf(r.Session); m != nil {
			m.runUntil(time.Time{})
			e.saveSoon(m)
			m.calls.end()
		}
		e.spawn(func(context.Context) { e.boundary(r.Session) })
	})
}

// failRun fails an active run, and the inputs that wait behind it when the
// failure is terminal.
func (e *Engine) failRun(sid id.Session, run id.Run, end event.Failed) {
	err := e.change(e.ctx, sid, func(c *change) error {
		r, err := c.tx.Run(c.ctx, sid, run)
		if err != nil {
			return err
		}
		if !r.State.Active() {
			return errNoChange
		}
		return e.failActive(c, &r, end)
	})
	if err != nil && e.ctx.Err() == nil {
		e.log.Error("fail run", "session_id", sid, "run_id", run, "error", err)
	}
}

func (e *Engine) failActive(c *change, r *session.Run, end event.Failed) error {
	if err := e.endRun(c, r, session.RunFail, end); err != nil || !end.Terminal {
		return err
	}
	return e.eachOpenRun(c, func(q *session.Run) error {
		return e.endRun(c, q, session.RunFail, event.Failed{Code: end.Code, Message: "not started: the run before it failed: " + end.Message})
	})
}

// completeRun ends a run as the agent ended it.
func (e *Engine) completeRun(c *change, r *session.Run, end guestapi.End) error {
	next, err := r.State.On(session.RunComplete)
	if err != nil {
		return err
	}
	if err := e.expireApprovals(c, r.ID); err != nil {
		return err
	}
	r.State, r.EndedAt, r.AwaitingSince = next, c.now, time.Time{}
	hideInput(r, c.veil)
	if err := c.tx.SaveRun(*r); err != nil {
		return err
	}
	c.emit(r.ID, event.RunCompleted, event.Completed{
		TokensIn: r.TokensIn, TokensOut: r.TokensOut, CostMicros: r.CostMicros, StopReason: r.StopReason, Text: end.Text,
	})
	e.traceRun(c, *r)
	e.turnOver(c, *r, true)
	return nil
}

// eachOpenRun does fn for every run of the session that has not ended, in order.
func (e *Engine) eachOpenRun(c *change, fn func(r *session.Run) error) error {
	runs, err := c.tx.Runs(c.ctx, store.RunFilter{
		Session: c.s.ID, States: []session.RunState{session.RunQueued, session.RunRunning, session.RunAwaiting},
	})
	if err != nil {
		return err
	}
	for i := range runs {
		if err := fn(&runs[i]); err != nil {
			return err
		}
	}
	return nil
}

// expireApprovals closes what still waits for a person in a run that ends.
func (e *Engine) expireApprovals(c *change, run id.Run) error {
	open, err := c.tx.Approvals(c.ctx, c.s.ID, true)
	if err != nil {
		return err
	}
	for _, a := range open {
		if a.Run != run {
			continue
		}
		a.State, a.Actor, a.Reason, a.EndedAt = approval.Expired, actorSystem, "the run ended", c.now
		if err := c.tx.SaveApproval(a); err != nil {
			return err
		}
		c.emit(run, event.HumanInputReceived, answeredAs(a, approval.OutcomeReject))
		if err := e.traceApproval(c, a); err != nil {
			return err
		}
	}
	return nil
}
