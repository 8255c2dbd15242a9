package engine

import (
	"context"
	"time"

	"paddock/internal/event"
	"paddock/internal/fault"
	"paddock/internal/guestapi"
	"paddock/internal/id"
	"paddock/internal/session"
)

// cancelDeadline is when we end a cancelled run ourselves, if the guest has not
// reported its end: it promises 10 s.
const cancelDeadline = 12 * time.Second

// noTurnGrace is the same when the guest has no such turn: either its end is on
// the way to us, or it will never begin.
const noTurnGrace = time.Second

// Cancel ends a run: a queued one is taken out of the line, the active one's
// turn is ended in the sandbox. It returns once that is under way; the end is an
// event. Without a run it means the active one.
func (e *Engine) Cancel(ctx context.Context, team id.Team, ref, run, actor string) (CancelResult, error) {
	s, err := e.find(ctx, team, ref)
	if err != nil {
		return CancelResult{}, err
	}
	result := CancelResult{Session: s.ID, Outcome: guestapi.CancelNoTurn}
	target, err := e.cancelTarget(ctx, s, run)
	if err != nil {
		return result, err
	}
	if target == nil || target.State.Ended() {
		return result, notWhilePaused(s)
	}
	result.Run = target.ID
	if target.State == session.RunQueued {
		result.Outcome, err = e.cancelQueued(ctx, s.ID, target.ID, actor)
		if err != nil || result.Outcome == guestapi.CancelAcked {
			return result, err
		}
	}
	result.Outcome, err = e.cancelActive(ctx, s.ID, target.ID, actor)
	return result, err
}

func notWhilePaused(s session.Session) error {
	if s.State == session.Paused {
		return fault.New(fault.Conflict, "%s", notNow(s))
	}
	return nil
}

// cancelTarget finds the run a cancel means; nil when there is none.
func (e *Engine) cancelTarget(ctx context.Context, s session.Session, run string) (*session.Run, error) {
	if run == "" {
		return activeRun(ctx, e.store, s.ID)
	}
	r, err := e.runOf(ctx, s, run)
	if err != nil {
		return nil, err
	}
	return &r, nil
}

// cancelQueued takes a run out of the line; no_turn when it had started.
func (e *Engine) cancelQueued(ctx context.Context, sid id.Session, run id.Run, actor string) (guestapi.CancelOutcome, error) {
	outcome := guestapi.CancelNoTurn
	err := e.change(ctx, sid, func(c *change) error {
		r, err := c.tx.Run(ctx, sid, run)
		if err != nil {
			return err
		}
		if r.State != session.RunQueued {
			return errNoChange
		}
		outcome = guestapi.CancelAcked
		return e.endRun(c, &r, session.RunCancel, cancelledBy(actor))
	})
	return outcome, err
}

// cancelActive asks the guest to end the turn, and sees to it that the run ends.
func (e *Engine) cancelActive(ctx context.Context, sid id.Session, run id.Run, actor string) (guestapi.CancelOutcome, error) {
	m := e.machineOf(sid)
	if m == nil {
		return guestapi.CancelNoTurn, nil
	}
	m.noteCancel(run, actor)
	outcome, err := ask(ctx, m, func(g guestapi.Guest) (guestapi.CancelOutcome, error) { return g.Cancel(ctx, run) })
	if err != nil {
		m.forgetCancel(run)
		if r, read := e.store.Run(ctx, sid, run); read == nil && r.State.Ended() {
			return guestapi.CancelNoTurn, nil // ended with its machine
		}
		return outcome, err
	}
	grace := cancelDeadline
	if outcome == guestapi.CancelNoTurn {
		grace = noTurnGrace
	}
	e.spawn(func(ctx context.Context) {
		defer m.forgetCancel(run)
		if m.ends(ctx, run, grace) {
			return
		}
		e.endCancelled(sid, run, actor)
	})
	return guestapi.CancelAcked, nil
}

// ends waits until the run has ended, at most for grace.
func (m *machine) ends(ctx context.Context, run id.Run, grace time.Duration) bool {
	e := m.engine
	e.hub.open(m.session)
	defer e.hub.close(m.session)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	for {
		_, _, changed := e.hub.state(m.session)
		r, err := e.store.Run(ctx, m.session, run)
		if err != nil || r.State.Ended() {
			return true
		}
		select {
		case <-changed:
		case <-timer.C:
			return false
		case <-ctx.Done():
			return true
		}
	}
}

func (e *Engine) endCancelled(sid id.Session, run id.Run, actor string) {
	err := e.change(e.ctx, sid, func(c *change) error {
		r, err := c.tx.Run(c.ctx, sid, run)
		if err != nil {
			return err
		}
		if r.State.Ended() {
			return errNoChange
		}
		return e.endRun(c, &r, session.RunCancel, cancelledBy(actor))
	})
	if err != nil && e.ctx.Err() == nil {
		e.log.Error("end cancelled run", "session_id", sid, "run_id", run, "error", err)
	}
}

// noteCancel remembers who cancelled a run, for the event that ends it.
func (m *machine) noteCancel(run id.Run, actor string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cancels[run] = actor
}

func (m *machine) forgetCancel(run id.Run) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.cancels, run)
}

// cancelActor says who cancelled a run; after a restart that is not known.
func (m *machine) cancelActor(run id.Run) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if who, ok := m.cancels[run]; ok {
		return who
	}
	return "a person"
}

// overdue fails a run that is past its limit and ends its turn.
func (e *Engine) overdue(m *machine) {
	e.spawn(func(ctx context.Context) {
		r, err := activeRun(ctx, e.store, m.session)
		if err != nil || r == nil || r.State != session.RunRunning || r.Deadline.After(e.now()) {
			return
		}
		limit := r.Deadline.Sub(r.StartedAt).Round(time.Second)
		e.failRun(m.session, r.ID, event.Failed{Code: event.BudgetExceeded, Message: "the run took longer than max_run_time allows (" + limit.String() + ")", Terminal: true})
		_, err = ask(ctx, m, func(g guestapi.Guest) (guestapi.CancelOutcome, error) { return g.Cancel(ctx, r.ID) })
		if err != nil && ctx.Err() == nil {
			e.log.Warn("end overdue turn", "session_id", m.session, "run_id", r.ID, "error", err)
		}
	})
}
