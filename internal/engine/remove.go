package engine

import (
	"context"

	"paddock/internal/event"
	"paddock/internal/id"
	"paddock/internal/logging"
	"paddock/internal/metrics"
	"paddock/internal/session"
)

// RemoveSession accepts a session's removal: its name and slot are free, its run
// is ended, when it returns; the host's resources are freed after. It is
// possible in every state, and again.
func (e *Engine) RemoveSession(ctx context.Context, team id.Team, ref string) error {
	s, err := e.find(ctx, team, ref)
	if err != nil {
		return err
	}
	err = e.change(ctx, s.ID, func(c *change) error {
		if c.s.State == session.Destroying || c.s.State == session.Destroyed {
			return errNoChange
		}
		if err := e.cancelRuns(c, "the session was removed"); err != nil {
			return err
		}
		if err := c.move(session.CauseRemove, ""); err != nil {
			return err
		}
		c.later(func() { e.startRemoval(ctx, c.s.ID) })
		return nil
	})
	return err
}

// startRemoval ends what the actor is at and frees the machine.
func (e *Engine) startRemoval(from context.Context, sid id.Session) {
	a := e.actor(sid)
	a.interrupt()
	a.post(func(life context.Context) { e.finishRemoval(logging.Carry(life, from), a) })
}

// finishRemoval frees the machine, trying until nothing is left of it.
func (e *Engine) finishRemoval(ctx context.Context, a *actor) {
	var err error
	ctx, done := e.measure(ctx, metrics.Remove, a.session)
	defer func() { done(&err) }()
	m := a.attached()
	freed := e.insist(ctx, a, "free sandbox", func(ctx context.Context) error {
		if err := e.clearMachine(ctx, a); err != nil {
			return err
		}
		return e.removePoints(a.session)
	})
	if !freed {
		err = context.Cause(ctx)
		return // the next server goes on
	}
	marked := e.insist(ctx, a, "mark session destroyed", func(ctx context.Context) error {
		return e.change(ctx, a.session, func(c *change) error {
			if c.s.State != session.Destroying {
				return errNoChange
			}
			e.release(c, m, "removed")
			if c.s.Image != "" {
				c.later(func() { e.images.untidy.Store(true) })
			}
			return c.move(session.CauseGone, "")
		})
	})
	if !marked {
		err = context.Cause(ctx)
		return
	}
	e.log.InfoContext(ctx, "session destroyed", "session_id", a.session)
	e.forget(a.session)
}

// cancelRuns ends every run of a session that has not ended, as cancelled.
func (e *Engine) cancelRuns(c *change, why string) error {
	return e.eachOpenRun(c, func(r *session.Run) error {
		return e.endRun(c, r, session.RunCancel, event.Failed{Code: event.Internal, Message: why, Cancelled: true})
	})
}

// endRuns fails every run of a session that has not ended; no input is accepted
// after it if one of them was active.
func (e *Engine) endRuns(c *change, code event.FailureCode, why string) error {
	return e.eachOpenRun(c, func(r *session.Run) error {
		return e.endRun(c, r, session.RunFail, event.Failed{Code: code, Message: why, Terminal: true})
	})
}
