package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"paddock/internal/event"
	"paddock/internal/failpoint"
	"paddock/internal/fault"
	"paddock/internal/id"
	"paddock/internal/recovery"
	"paddock/internal/sandbox"
	"paddock/internal/session"
	"paddock/internal/store"
	"paddock/internal/tracing"
)

const (
	// restoresAtOnce is how many lost sandboxes are replaced side by side: after a
	// reboot it may be all of them.
	restoresAtOnce = 4
	// restoreTries is how often a restore is tried whose machine does not come up.
	restoreTries = 5
)

// memoryKept is session.Session.Memory of one that never lost it.
const memoryKept = "kept"

// loss is how a session's sandbox, and with it its memory, came to be lost.
type loss struct {
	reason string // one word: oom, killed, reboot, gone, unreachable
	why    string // one sentence
}

// lossFound is what a server that starts says of a machine that it cannot take up.
func (e *Engine) lossFound(err error) loss {
	switch {
	case !errors.Is(err, sandbox.ErrGone):
		return loss{"unreachable", "its sandbox could not be taken up again: " + err.Error()}
	case e.rebooted:
		return loss{"reboot", "its sandbox ended with a reboot of the host"}
	default:
		return loss{"gone", "its sandbox was gone when the server came back"}
	}
}

// restorable says whether there are saved files of a session.
func (e *Engine) restorable(sid id.Session) bool {
	if e.points == nil {
		return false
	}
	_, ok := e.points.Newest(sid)
	return ok
}

// savedAt is when the files of a session whose machine is taken up were saved.
func (e *Engine) savedAt(s session.Session, started time.Time) time.Time {
	if e.points != nil {
		if p, ok := e.points.Newest(s.ID); ok && p.At.After(started) {
			return p.At
		}
	}
	return started
}

// lose goes on with a session whose machine is lost: an active run fails, which
// ends the conversation. If its files were saved, another machine is started
// with them, at once when the session was ready, when somebody wakes it when it
// was paused. Else it has failed. It is a verb of the session's actor.
func (e *Engine) lose(ctx context.Context, a *actor, l loss) {
	if !e.restorable(a.session) {
		e.giveUp(ctx, a, session.CauseLost, l.why)
		return
	}
	var row store.Machine
	var state session.State
	noted := e.insist(ctx, a, "note that the sandbox is lost", func(ctx context.Context) (err error) {
		if row, err = e.store.Machine(ctx, a.session); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		return e.change(ctx, a.session, func(c *change) error {
			state = c.s.State
			return e.noteLoss(c, a.attached(), l)
		})
	})
	if !noted {
		return // the next server goes on
	}
	failpoint.Hit("lost.noted")
	a.owe(row.Handle) // to be freed by a removal, if that interrupts
	freed := e.insist(ctx, a, "free lost sandbox", func(ctx context.Context) error { return e.clearLost(ctx, a) })
	if freed && (state == session.Ready || state == session.Updating) {
		e.restore(ctx, a)
	}
}

// noteLoss stores that the machine is lost. Inputs that wait behind no active run
// go on waiting, as does a pause that is pending.
func (e *Engine) noteLoss(c *change, m *machine, l loss) error {
	switch c.s.State {
	case session.Ready, session.Paused, session.Updating:
	default:
		return errNoChange // it is being removed
	}
	r, err := c.active()
	if err != nil {
		return err
	}
	if r != nil {
		if err := e.failActive(c, r, event.Failed{Code: event.SandboxLost, Message: l.why, Terminal: true}); err != nil {
			return err
		}
	}
	if err := c.tx.DeleteMachine(c.s.ID); err != nil {
		return err
	}
	if c.s.State == session.Updating && c.s.Memory != memoryKept {
		return nil // it is the second machine in a row, which never was ready
	}
	saved, _ := e.points.Newest(c.s.ID)
	e.release(c, m, l.why)
	c.s.Memory, c.s.RestoredTo, c.dirty = "lost:"+l.reason, saved.At, true
	if c.s.State == session.Ready {
		pending := c.s.PausePending
		if c.s.State, err = c.s.State.On(session.CauseRecover); err != nil {
			return err
		}
		c.s.PausePending, c.dirty = pending, true
	}
	c.emit(id.Run{}, event.SessionUpdated, stateAfterLoss(c.s, l.why+"; its memory is lost, its files are those of "+saved.At.Format(time.RFC3339)))
	return nil
}

func stateAfterLoss(s session.Session, message string) event.SessionState {
	return event.SessionState{Status: s.State.Wire(), PauseReason: string(s.PauseReason), Message: message, Memory: s.Memory, RestoredTo: &s.RestoredTo}
}

// clearLost frees what is left of a lost machine, whose row is deleted. Again is
// no error.
func (e *Engine) clearLost(ctx context.Context, a *actor) error {
	if m := a.detach(); m != nil {
		m.letGo()
	}
	owed := a.owes()
	if owed == nil {
		return nil
	}
	handle, err := sandbox.DecodeHandle(owed)
	if err != nil {
		return err
	}
	if err := e.driver.Destroy(ctx, handle); err != nil {
		return fmt.Errorf("destroy sandbox: %w", err)
	}
	a.owe(nil)
	return nil
}

// restore replaces the lost machine of a session that is updating. If that does
// not succeed the session has failed.
func (e *Engine) restore(ctx context.Context, a *actor) {
	var err error
	for try, wait := 0, e.tries.first; try < restoreTries; try, wait = try+1, 2*wait {
		if err = e.restoreOnce(ctx, a, session.Updating); err == nil || ctx.Err() != nil || errors.Is(err, errNotStarting) {
			return
		}
		e.log.ErrorContext(ctx, "restore session", "session_id", a.session, "error", err, "again_in", wait)
		if errors.Is(err, errDamaged) {
			break
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
	}
	why := "its sandbox was lost, and none could be started with its saved files"
	if errors.Is(err, errDamaged) {
		why = "its sandbox was lost, and its saved files are damaged"
	}
	e.giveUp(ctx, a, session.CauseLost, why)
}

// errDamaged says that there are no saved files to start from after all.
var errDamaged = errors.New("no recovery point is whole")

// restoreOnce starts a machine with the newest saved files of a session that is
// in a state, and reports it ready.
func (e *Engine) restoreOnce(ctx context.Context, a *actor, in session.State) (err error) {
	ctx, span := e.trace.Start(ctx, "restore", tracing.Session(a.session.String()))
	defer func() { span.End(err) }()
	select {
	case e.restores <- struct{}{}:
		defer func() { <-e.restores }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, bootDeadline)
	defer cancel()
	s, err := e.store.SessionByID(ctx, a.session)
	if err != nil {
		return err
	}
	if s.State != in {
		return errNotStarting
	}
	env, err := e.store.Environment(ctx, s.Environment)
	if err != nil {
		return fmt.Errorf("read environment: %w", err)
	}
	spec, err := e.unseal(env)
	if err != nil {
		return err
	}
	point, err := e.points.Find(ctx, s.ID)
	if err != nil {
		if ctx.Err() == nil {
			err = fmt.Errorf("%w: %w", errDamaged, err)
		}
		return err
	}
	e.host.promise(startMemory, 1) // it was admitted when it was created
	defer e.host.promise(startMemory, -1)
	err = e.startMachine(ctx, a, s, spec, point)
	if err == nil {
		err = e.reportReady(ctx, s, rootName(spec), point)
	}
	if err != nil {
		return errors.Join(err, e.clearMachine(context.WithoutCancel(ctx), a))
	}
	return nil
}

// reportRestored moves a session whose machine was started with saved files; what
// waited for it goes on.
func (e *Engine) reportRestored(c *change, cause session.Cause, from recovery.Point) (err error) {
	pending := c.s.PausePending
	if c.s.State, err = c.s.State.On(cause); err != nil {
		return err
	}
	c.s.PauseReason, c.s.PausePending, c.s.RestoredTo, c.dirty = "", pending, from.At, true
	c.emit(id.Run{}, event.SessionUpdated, stateAfterLoss(c.s, "restored to its files of "+from.At.Format(time.RFC3339)))
	sid := c.s.ID
	c.later(func() {
		if m := e.machineOf(sid); m != nil {
			m.touch()
		}
		e.spawn(func(context.Context) { e.boundary(sid) })
	})
	return nil
}

// thawLost wakes a paused session whose machine was lost while it was paused.
func (e *Engine) thawLost(ctx context.Context, a *actor) error {
	s, err := e.store.SessionByID(ctx, a.session)
	if err != nil {
		return err
	}
	if s.State != session.Paused || !e.restorable(s.ID) {
		return e.refuseState(ctx, a.session)
	}
	err = e.restoreOnce(ctx, a, session.Paused)
	switch {
	case errors.Is(err, errNotStarting):
		return e.refuseState(ctx, a.session)
	case errors.Is(err, errDamaged):
		e.giveUp(ctx, a, session.CauseLost, "its sandbox was lost, and its saved files are damaged")
		return e.refuseState(ctx, a.session)
	case err != nil:
		return fault.Wrap(err, fault.Internal, "the session could not be resumed and stays paused; try again")
	}
	return nil
}
