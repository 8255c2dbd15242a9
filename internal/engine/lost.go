package engine

import (
	"context"
	"time"

	"paddock/internal/event"
	"paddock/internal/id"
	"paddock/internal/session"
)

// machineEnded is called when a machine ends that nobody asked to end.
func (e *Engine) machineEnded(m *machine) {
	exit := m.box.Exit()
	why := "its sandbox was lost: " + exit.Reason
	if exit.OOM {
		why = "its sandbox ran out of memory and was ended by the kernel"
	}
	a := e.actor(m.session)
	a.post(func(context.Context) {
		if a.attached() != m {
			return // removed meanwhile
		}
		e.log.Error("sandbox lost", "session_id", m.session, "reason", exit.Reason, "oom", exit.OOM)
		e.giveUp(a, session.CauseLost, why)
	})
}

// giveUp makes a session failed and frees everything it holds on the host. The
// history and the row stay. A session that is not in a state to fail (it is
// being removed, or starting) is left to whoever is at it.
func (e *Engine) giveUp(a *actor, cause session.Cause, why string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.ctx), teardownDeadline)
	defer cancel()
	err := e.change(ctx, a.session, func(c *change) error {
		if _, err := c.s.State.On(cause); err != nil {
			return errNoChange
		}
		c.s.Reason = why
		if err := e.endRuns(c, event.SandboxLost, why); err != nil {
			return err
		}
		if cause != session.CauseBootFailed { // then it was never said to be allocated
			e.release(c, a.attached(), why)
		}
		return c.move(cause, why)
	})
	if err != nil {
		e.log.Error("mark session failed", "session_id", a.session, "error", err)
	}
	e.teardown(ctx, a)
}

// release says in the history that the session's sandbox is no more.
func (e *Engine) release(c *change, m *machine, why string) {
	if c.s.Sandbox.IsZero() {
		return
	}
	p := event.Released{SandboxID: c.s.Sandbox.String(), Reason: why}
	if m != nil {
		p.DurationMS = c.now.Sub(m.started).Milliseconds()
	}
	c.emit(id.Run{}, event.SandboxReleased, p)
}

const (
	teardownDeadline = 60 * time.Second // of one try to free a machine
	teardownRetry    = 2 * time.Second  // between tries
)

// teardown frees the session's machine. What could not be freed is tried again
// when the server starts next; a session that is being removed is kept at until
// it is (see finishRemoval).
func (e *Engine) teardown(ctx context.Context, a *actor) bool {
	if err := e.clearMachine(ctx, a); err != nil {
		e.log.Error("free sandbox", "session_id", a.session, "error", err)
		return false
	}
	return true
}
