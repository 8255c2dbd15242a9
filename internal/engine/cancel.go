package engine

import (
	"context"
	"time"

	"paddock/internal/event"
	"paddock/internal/failpoint"
	"paddock/internal/fault"
	"paddock/internal/guestapi"
	"paddock/internal/id"
	"paddock/internal/session"
)

// cancelDeadline is when we end a cancelled run ourselves, counted from the
// cancel, if its guest has not reported the end: the end is promised within
// 10 s, and a guest that answers takes 8 s at the most.
const cancelDeadline = 9500 * time.Millisecond

// cancelLeast is what a guest has at least, also when the server was away.
const cancelLeast = 3 * time.Second

// Cancel ends a run: a queued one is taken out of the line, the active one's
// turn is ended in the sandbox. That somebody cancelled it is stored, so it is
// carried out whatever happens to the connection or the server. It returns once
// it is known what the cancel met; the end is an event. Acked means that the run
// ends, or has ended, as cancelled; no_turn that it had ended otherwise. Without
// a run it means the active one.
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
	r, queued, err := e.noteCancel(ctx, s.ID, target.ID, actor)
	switch {
	case err != nil:
		return result, err
	case queued:
		result.Outcome = guestapi.CancelAcked
		return result, nil
	case r.State.Ended():
		return result, nil
	}
	met := make(chan guestapi.CancelOutcome, 1)
	e.spawn(func(ctx context.Context) { e.carryOutCancel(ctx, r, met) })
	select {
	case result.Outcome = <-met:
		return result, nil
	case <-ctx.Done():
		return result, context.Cause(ctx)
	case <-e.ctx.Done():
		return result, errStopping
	}
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

// noteCancel takes a queued run out of the line, and stores of an active one
// that it is to end and who wants it: the first who asked.
func (e *Engine) noteCancel(ctx context.Context, sid id.Session, run id.Run, actor string) (r session.Run, queued bool, err error) {
	err = e.change(ctx, sid, func(c *change) error {
		if r, err = c.tx.Run(ctx, sid, run); err != nil {
			return err
		}
		switch {
		case r.State == session.RunQueued:
			queued = true
			return e.endRun(c, &r, session.RunCancel, cancelledBy(actor))
		case r.State.Ended(), !r.CancelAt.IsZero():
			return errNoChange
		}
		r.CancelAt, r.CancelledBy = c.now, actor
		return c.tx.SaveRun(r)
	})
	return r, queued, err
}

// carryOutCancel ends an active run whose cancel is stored: by its guest, and by
// ourselves when that does not answer or has no such turn. What was met goes to
// met as soon as it is known.
func (e *Engine) carryOutCancel(ctx context.Context, r session.Run, met chan<- guestapi.CancelOutcome) {
	failpoint.Hit("cancel.noted")
	limit, stop := context.WithTimeout(ctx, max(r.CancelAt.Add(cancelDeadline).Sub(e.now()), cancelLeast))
	defer stop()
	outcome := e.cancelTurn(limit, r)
	if outcome == guestapi.CancelAcked {
		met <- outcome
	}
	if outcome != guestapi.CancelNoTurn && e.ends(limit, r) {
		if outcome != guestapi.CancelAcked {
			met <- guestapi.CancelNoTurn
		}
		return
	}
	if ctx.Err() != nil {
		return // the next server goes on
	}
	ended := e.endCancelled(r)
	switch {
	case outcome == guestapi.CancelAcked:
	case ended:
		met <- guestapi.CancelAcked
	default:
		met <- guestapi.CancelNoTurn
	}
	if outcome != guestapi.CancelNoTurn {
		e.cancelTurn(ctx, r) // should its guest come back: its turn goes on there
	}
}

// cancelTurn tells the guest that a run is cancelled. Empty: nobody was reached.
func (e *Engine) cancelTurn(ctx context.Context, r session.Run) guestapi.CancelOutcome {
	m := e.machineOf(r.Session)
	if m == nil {
		return guestapi.CancelNoTurn // nothing plays it
	}
	outcome, err := ask(ctx, m, func(g guestapi.Guest) (guestapi.CancelOutcome, error) { return g.Cancel(ctx, r.ID) })
	if err != nil {
		return ""
	}
	return outcome
}

// ends waits until the run has ended; false when ctx is over before.
func (e *Engine) ends(ctx context.Context, r session.Run) bool {
	e.hub.open(r.Session)
	defer e.hub.close(r.Session)
	for {
		_, _, changed := e.hub.state(r.Session)
		now, err := e.store.Run(ctx, r.Session, r.ID)
		if err == nil && now.State.Ended() {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// endCancelled ends a cancelled run that nobody else ends, and says whether it
// had not ended before.
func (e *Engine) endCancelled(r session.Run) (ended bool) {
	err := e.change(e.ctx, r.Session, func(c *change) error {
		fresh, err := c.tx.Run(c.ctx, r.Session, r.ID)
		if err != nil {
			return err
		}
		if fresh.State.Ended() {
			return errNoChange
		}
		ended = true
		return e.endRun(c, &fresh, session.RunCancel, cancelledBy(fresh.CancelledBy))
	})
	if err != nil && e.ctx.Err() == nil {
		e.log.Error("end cancelled run", "session_id", r.Session, "run_id", r.ID, "error", err)
	}
	return ended && err == nil
}

// overdue fails a run that is past its limit and ends its turn.
func (e *Engine) overdue(m *machine) {
	e.spawn(func(ctx context.Context) {
		r, err := activeRun(ctx, e.store, m.session)
		if err != nil || r == nil || r.State != session.RunRunning || r.Deadline.After(e.now()) || !r.CancelAt.IsZero() {
			return // or somebody cancelled it, and it is ending
		}
		limit := r.Deadline.Sub(r.StartedAt).Round(time.Second)
		e.failRun(m.session, r.ID, event.Failed{Code: event.BudgetExceeded, Message: "the run took longer than max_run_time allows (" + limit.String() + ")", Terminal: true})
		_, err = ask(ctx, m, func(g guestapi.Guest) (guestapi.CancelOutcome, error) { return g.Cancel(ctx, r.ID) })
		if err != nil && ctx.Err() == nil {
			e.log.Warn("end overdue turn", "session_id", m.session, "run_id", r.ID, "error", err)
		}
	})
}
