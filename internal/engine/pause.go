package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"paddock/internal/event"
	"paddock/internal/failpoint"
	"paddock/internal/fault"
	"paddock/internal/guestapi"
	"paddock/internal/id"
	"paddock/internal/metrics"
	"paddock/internal/session"
	"paddock/internal/tracing"
)

// drainPatience is how long a pause waits for the guest to hand over what it
// has reported and to sync its files. A guest that does not answer cannot keep
// its session from being paused.
const drainPatience = 10 * time.Second

// freezeDeadline bounds a freeze and a thaw, each done in milliseconds, so that
// a sandbox that does not answer does not hold its session for ever.
const freezeDeadline = 30 * time.Second

// pauseRetry is how long a pending pause that could not be done waits for its
// next try; the queued inputs wait with it.
const pauseRetry = 2 * time.Second

// errBusy is how freeze says that the session left the boundary meanwhile, or
// that nobody wants the pause any more.
var errBusy = errors.New("a run started meanwhile")

// Pause freezes a session at a boundary. While a run is active the pause is
// noted and done when the run ends, before any queued input: pending is true.
func (e *Engine) Pause(ctx context.Context, team id.Team, ref string) (pending bool, err error) {
	s, err := e.find(ctx, team, ref)
	if err != nil {
		return false, err
	}
	if s.KeepWarm {
		return false, fault.New(fault.Conflict, "session %s is kept warm (keep_warm) and does not pause", s.Name)
	}
	for {
		pending, err = e.notePause(ctx, s.ID, session.PauseManual)
		if pending || err != nil {
			return pending, err
		}
		a := e.actor(s.ID)
		err = a.do(ctx, func(ctx context.Context) error { return e.freeze(ctx, a, session.PauseManual, nil) })
		if !errors.Is(err, errBusy) {
			return false, err
		}
	}
}

// notePause makes the pause pending when a run is active; refuses when the
// session is not ready.
func (e *Engine) notePause(ctx context.Context, sid id.Session, reason session.PauseReason) (pending bool, err error) {
	err = e.change(ctx, sid, func(c *change) error {
		if c.s.State != session.Ready {
			return fault.New(fault.Conflict, "%s", notReady(c.s))
		}
		r, err := c.active()
		if err != nil {
			return err
		}
		if r == nil {
			return errNoChange
		}
		pending = true
		if c.s.PausePending != "" {
			return errNoChange
		}
		c.s.PausePending, c.dirty = reason, true
		return nil
	})
	return pending, err
}

// notReady is why a session that is not ready cannot be paused.
func notReady(s session.Session) string {
	if s.State == session.Paused {
		return fmt.Sprintf("session %s is not ready: it is paused already (%s)", s.Name, s.PauseReason)
	}
	return notNow(s)
}

// freeze is the one way into a pause, whatever the reason: the guest is drained,
// the machine frozen, and only then the session is called paused. A run that
// started meanwhile wins, and so does whoever took the pause back (then wanted
// says no; nil means that it cannot be taken back): the machine is thawed and
// the error is errBusy. Machine calls that begin meanwhile wait for the outcome.
func (e *Engine) freeze(ctx context.Context, a *actor, reason session.PauseReason, wanted func(s session.Session) bool) (err error) {
	ctx, done := e.measure(ctx, metrics.Pause, a.session, tracing.Reason(string(reason)))
	defer done(&err)
	ctx, cancel := context.WithTimeout(ctx, freezeDeadline)
	defer cancel()
	m := a.attached()
	if m == nil {
		return e.refuseState(ctx, a.session)
	}
	if s, err := e.store.SessionByID(ctx, a.session); err != nil || s.State != session.Ready {
		return e.refuseState(ctx, a.session)
	}
	m.setRest(freezing)
	if err := e.freezeMachine(ctx, m, reason, wanted); err != nil {
		return thawed(ctx, m, err)
	}
	m.setRest(frozen)
	e.saveFrozen(m)
	e.log.InfoContext(ctx, "session paused", "session_id", a.session, "reason", reason)
	return nil
}

// freezeMachine takes the steps of freeze.
func (e *Engine) freezeMachine(ctx context.Context, m *machine, reason session.PauseReason, wanted func(s session.Session) bool) error {
	drain, drained := context.WithTimeout(ctx, drainPatience)
	_, err := ask(drain, m, func(g guestapi.Guest) (struct{}, error) { return struct{}{}, g.Drain(drain) })
	drained()
	if err != nil && (ctx.Err() != nil || errors.Is(err, errSandboxLost)) {
		return fmt.Errorf("drain guest: %w", err)
	}
	unsaved := err != nil
	if unsaved {
		e.log.WarnContext(ctx, "pausing without the guest's help", "session_id", m.session, "error", err)
	}
	failpoint.Hit("pause.drained")
	if err := m.box.Pause(ctx); err != nil {
		return fmt.Errorf("freeze sandbox: %w", m.lostUnder(err))
	}
	failpoint.Hit("pause.frozen")
	return e.change(context.WithoutCancel(ctx), m.session, func(c *change) error {
		r, err := c.active()
		if err != nil {
			return err
		}
		if r != nil || wanted != nil && !wanted(c.s) {
			return errBusy
		}
		c.s.PauseReason = reason
		if unsaved {
			c.emit(id.Run{}, event.RunLog, event.Log{Level: "warn", Message: "the sandbox did not help with the pause and was frozen as it is, its files not synced before"})
		}
		return c.move(session.CausePause, "")
	})
}

// thawed undoes a freeze that came to nothing, with err: a machine that may be
// frozen is not left behind a session that is ready. If it cannot be thawed, the
// next machine call tries again.
func thawed(ctx context.Context, m *machine, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), freezeDeadline)
	defer cancel()
	if thaw := m.box.Resume(ctx); thaw != nil {
		return errors.Join(err, fmt.Errorf("thaw sandbox: %w", m.lostUnder(thaw)))
	}
	m.setRest(awake)
	return err
}

// pauseInTurn does a pending pause at the boundary that has come.
func (e *Engine) pauseInTurn(sid id.Session) {
	a := e.actor(sid)
	a.post(func(ctx context.Context) {
		s, err := e.store.SessionByID(ctx, sid)
		if err != nil || s.State != session.Ready || s.PausePending == "" {
			return // resumed or removed meanwhile
		}
		err = e.freeze(ctx, a, s.PausePending, func(s session.Session) bool { return s.PausePending != "" })
		if err == nil || errors.Is(err, errBusy) || ctx.Err() != nil {
			return
		}
		e.log.Error("pause session at boundary", "session_id", sid, "error", err)
		e.spawn(func(ctx context.Context) { // else the pause, and all that waits for it, would wait for ever
			select {
			case <-time.After(pauseRetry):
				e.boundary(sid)
			case <-ctx.Done():
			}
		})
	})
}

// Resume thaws a paused session; of a session that is not paused it takes back a
// manual pause that is pending.
func (e *Engine) Resume(ctx context.Context, team id.Team, ref string) error {
	s, err := e.find(ctx, team, ref)
	if err != nil {
		return err
	}
	if s.State == session.Ready && s.PausePending == session.PauseManual {
		if done, err := e.takeBackPause(ctx, s.ID); done || err != nil {
			return err
		}
	}
	a := e.actor(s.ID)
	return a.do(ctx, func(ctx context.Context) error {
		s, err := e.store.SessionByID(ctx, a.session)
		if err != nil {
			return err
		}
		if s.State != session.Paused {
			return fault.New(fault.Conflict, "session %s is not paused", s.Name)
		}
		return e.thaw(ctx, a)
	})
}

func (e *Engine) takeBackPause(ctx context.Context, sid id.Session) (done bool, err error) {
	err = e.change(ctx, sid, func(c *change) error {
		if c.s.State != session.Ready || c.s.PausePending != session.PauseManual {
			return errNoChange
		}
		done = true
		c.s.PausePending, c.dirty = "", true
		return e.startNext(c)
	})
	return done, err
}

// thaw is the one way out of a pause.
func (e *Engine) thaw(ctx context.Context, a *actor) (err error) {
	ctx, done := e.measure(ctx, metrics.Resume, a.session)
	defer done(&err)
	m := a.attached()
	if m == nil {
		return e.thawLost(ctx, a)
	}
	ctx, cancel := context.WithTimeout(ctx, freezeDeadline)
	defer cancel()
	if err := m.box.Resume(ctx); err != nil {
		if errors.Is(m.lostUnder(err), errSandboxLost) {
			return errSandboxLost
		}
		return fault.Wrap(err, fault.Internal, "the session could not be resumed and stays paused; try again")
	}
	failpoint.Hit("resume.thawed")
	err = e.change(context.WithoutCancel(ctx), a.session, func(c *change) error {
		if err := c.move(session.CauseResume, ""); err != nil {
			return err
		}
		c.later(func() { m.setRest(awake); m.touch() })
		return e.startNext(c)
	})
	if err == nil {
		e.log.InfoContext(ctx, "session resumed", "session_id", a.session)
	}
	return err
}

// wake sees to it that the machine runs, for a machine call. What is being
// paused just now is waited for and then resumed.
func (e *Engine) wake(ctx context.Context, m *machine) error {
	if m.resting() == awake {
		return nil
	}
	return e.wakeSession(ctx, m.session)
}

// wakeSession resumes a session if it is paused when its turn comes.
func (e *Engine) wakeSession(ctx context.Context, sid id.Session) error {
	a := e.actor(sid)
	return a.do(ctx, func(ctx context.Context) error {
		s, err := e.store.SessionByID(ctx, sid)
		if err != nil {
			return err
		}
		m := a.attached()
		switch {
		case s.State == session.Paused:
			return e.thaw(ctx, a)
		case s.State == session.Ready && m != nil && m.resting() != awake:
			return thawed(ctx, m, nil) // a pause that failed has left it frozen
		}
		return nil // somebody else woke it, or the caller will see why not
	})
}

// refuseState is the refusal of a verb that needs a machine, by a session that
// has none.
func (e *Engine) refuseState(ctx context.Context, sid id.Session) error {
	s, err := e.store.SessionByID(ctx, sid)
	if err != nil {
		return err
	}
	if s.State == session.Ready {
		return errSandboxLost
	}
	return fault.New(fault.Conflict, "%s", notReady(s))
}
