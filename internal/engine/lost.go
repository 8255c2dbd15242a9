package engine

import (
	"context"
	"errors"
	"time"

	"paddock/internal/event"
	"paddock/internal/id"
	"paddock/internal/session"
	"paddock/internal/store"
)

// machineEnded is called when a machine ends that nobody asked to end.
func (e *Engine) machineEnded(m *machine) {
	exit := m.box.Exit()
	l := loss{"killed", "its sandbox was lost: " + exit.Reason}
	if exit.OOM {
		l = loss{"oom", "its sandbox ran out of memory and was ended by the kernel"}
	}
	e.machineLost(m, l, exit.Reason, "oom", exit.OOM)
}

// machineLost has the session of a lost machine go on without it, unless it does
// already; the log says why it is held for lost.
func (e *Engine) machineLost(m *machine, l loss, reason string, more ...any) {
	a := e.actor(m.session)
	a.post(func(ctx context.Context) {
		if a.attached() != m {
			return // removed meanwhile
		}
		e.log.Error("sandbox lost", append([]any{"session_id", m.session, "reason", reason}, more...)...)
		e.lose(ctx, a, l)
	})
}

// giveUp makes a session failed and frees everything it holds on the host. The
// history and the row stay. A session that is not in a state to fail (it is
// being removed, or starting) is left to whoever is at it. It is a verb of the
// session's actor and goes on until it is done, or the session is removed.
func (e *Engine) giveUp(ctx context.Context, a *actor, cause session.Cause, why string) {
	e.insist(ctx, a, "mark session failed", func(ctx context.Context) error {
		return e.change(ctx, a.session, func(c *change) error {
			if _, err := c.s.State.On(cause); err != nil {
				return errNoChange
			}
			c.s.Reason = c.veil.Text(why)
			if err := e.endRuns(c, event.SandboxLost, why); err != nil {
				return err
			}
			if cause != session.CauseBootFailed { // then it was never said to be allocated
				_, err := c.tx.Machine(c.ctx, c.s.ID)
				if err == nil { // else it was said to be released when it was lost
					e.release(c, a.attached(), why)
				} else if !errors.Is(err, store.ErrNotFound) {
					return err
				}
			}
			return c.move(cause, why)
		})
	})
	e.insist(ctx, a, "free sandbox", func(ctx context.Context) error { return e.clearMachine(ctx, a) })
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

// tries says how a step is repeated that has to succeed in the end.
type tries struct {
	limit       time.Duration // of one try
	first, most time.Duration // between tries: doubled each time, up to most
}

// untilDone is how that is done outside of tests.
func untilDone() tries { return tries{limit: time.Minute, first: time.Second, most: time.Minute} }

// insist repeats a step of a verb until it succeeds. It gives up only with ctx:
// when the server stops, for the next one to go on, or when the session's
// removal, which does the same, takes over.
func (e *Engine) insist(ctx context.Context, a *actor, what string, step func(ctx context.Context) error) (done bool) {
	for wait := e.tries.first; ; wait = min(2*wait, e.tries.most) {
		try, cancel := context.WithTimeout(ctx, e.tries.limit)
		err := step(try)
		cancel()
		if err == nil {
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		e.log.ErrorContext(ctx, what, "session_id", a.session, "error", err, "again_in", wait)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return false
		}
	}
}
