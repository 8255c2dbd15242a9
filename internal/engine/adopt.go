package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"paddock/internal/id"
	"paddock/internal/sandbox"
	"paddock/internal/session"
	"paddock/internal/store"
)

// adoptAtOnce is how many machines are recovered side by side.
const adoptAtOnce = 8

// strangersPatience is how long a start waits for the end of machines that no
// session owns.
const strangersPatience = 3 * time.Second

// adopt takes up every session that has not ended where it stood, and then destroys
// machines that no session owns; a crowd of those in the background.
func (e *Engine) adopt(ctx context.Context) error {
	rows, err := e.store.Machines(ctx)
	if err != nil {
		return fmt.Errorf("list machines: %w", err)
	}
	open, err := e.store.Sessions(ctx, store.SessionFilter{States: []session.State{
		session.Provisioning, session.Ready, session.Paused, session.Updating, session.Destroying,
	}})
	if err != nil {
		return fmt.Errorf("list sessions: %w", err)
	}
	// Looked at before anything is touched: see sandbox.ErrNewer.
	for _, r := range rows {
		if _, err := sandbox.DecodeHandle(r.Handle); errors.Is(err, sandbox.ErrNewer) {
			return fmt.Errorf("take up sandbox %s: %w", r.Sandbox, err)
		}
	}
	known := map[string]bool{}
	machines := map[id.Session]store.Machine{}
	for _, r := range rows {
		known[r.Sandbox.String()] = true
		machines[r.Session] = r
	}
	strangers, err := e.strangers(ctx, known)
	if err != nil {
		return err
	}
	if err := e.dropPoints(ctx, open); err != nil {
		return err
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(adoptAtOnce)
	for _, s := range open {
		row, has := machines[s.ID]
		delete(machines, s.ID)
		g.Go(func() error { e.takeUp(gctx, s, row, has); return nil })
	}
	for sid := range machines { // of sessions that failed while the server died
		a := e.actor(sid)
		a.post(func(ctx context.Context) {
			e.insist(ctx, a, "free sandbox", func(ctx context.Context) error { return e.clearMachine(ctx, a) })
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	cleared := make(chan struct{})
	e.spawn(func(ctx context.Context) {
		defer close(cleared)
		e.clear(ctx, strangers)
	})
	select {
	case <-cleared:
	case <-time.After(strangersPatience): // a crowd of them; nobody has to wait for that
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// strangers gives what the driver finds of machines the store does not know: the
// spares of a server that was killed, and what was forgotten in the middle of its
// removal.
func (e *Engine) strangers(ctx context.Context, known map[string]bool) ([]sandbox.Handle, error) {
	found, err := e.driver.Leftovers(ctx)
	if err != nil {
		return nil, fmt.Errorf("look for leftovers: %w", err)
	}
	return slices.DeleteFunc(found, func(h sandbox.Handle) bool { return known[h.ID] }), nil
}

// clear removes machines that no session owns. What is left is found again by
// the next server.
func (e *Engine) clear(ctx context.Context, strangers []sandbox.Handle) {
	var g errgroup.Group
	g.SetLimit(adoptAtOnce)
	for _, h := range strangers {
		e.log.Info("removing a sandbox that no session owns", "sandbox_id", h.ID)
		g.Go(func() error {
			if err := e.driver.Destroy(ctx, h); err != nil && ctx.Err() == nil {
				e.log.Error("destroy leftover", "sandbox_id", h.ID, "error", err)
			}
			return nil
		})
	}
	_ = g.Wait() // none fails
}

// takeUp goes on with one session.
func (e *Engine) takeUp(ctx context.Context, s session.Session, row store.Machine, has bool) {
	a := e.actor(s.ID)
	switch s.State {
	case session.Provisioning:
		e.startAgain(ctx, a)
	case session.Destroying:
		e.startRemoval(ctx, s.ID)
	default:
		if s.State == session.Paused && !has && e.restorable(s.ID) {
			return // it was lost before; whoever wakes it has it restored
		}
		if err := e.recover(ctx, a, s, row, has); err != nil {
			e.log.Error("recover sandbox", "session_id", s.ID, "error", err)
			l := e.lossFound(err)
			a.post(func(ctx context.Context) { e.lose(ctx, a, l) })
		}
	}
}

// startAgain makes the machine of a session whose server died while it started.
// It has all the time of a start: that the server was away is not its fault.
func (e *Engine) startAgain(ctx context.Context, a *actor) {
	err := e.change(ctx, a.session, func(c *change) error {
		c.s.Deadline, c.dirty = c.now.Add(startTime(c.s)), true
		return nil
	})
	if err != nil {
		e.log.Error("give time to start again", "session_id", a.session, "error", err)
	}
	a.post(func(ctx context.Context) {
		// It was admitted when it was created.
		e.host.promise(startMemory, 1)
		e.boot(ctx, a, &place{engine: e, memory: startMemory})
	})
}

// recover finds a session's machine and brings it to the state the store says.
func (e *Engine) recover(ctx context.Context, a *actor, s session.Session, row store.Machine, has bool) error {
	if !has {
		return sandbox.ErrGone
	}
	env, err := e.store.Environment(ctx, s.Environment)
	if err != nil {
		return fmt.Errorf("read environment: %w", err)
	}
	spec, err := e.unseal(env)
	if err != nil {
		return err
	}
	handle, err := sandbox.DecodeHandle(row.Handle)
	if err != nil {
		return err
	}
	box, err := e.driver.Recover(ctx, handle, brokered(spec))
	if err != nil {
		return err
	}
	// A server may die between freezing a machine and storing it, or between
	// thawing and storing: the store is right.
	switch paused := box.Paused(); {
	case s.State == session.Paused && !paused:
		err = box.Pause(ctx)
	case s.State == session.Ready && paused:
		err = box.Resume(ctx)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("bring sandbox to %s: %w", s.State, err), box.Close())
	}
	m := e.hold(s, box, guestConfig(s, e.withImage(s, spec)), row.CreatedAt, nil)
	a.attach(m)
	if row.Held != nil {
		m.showAfter(heldPatience)
	}
	e.takeUpRun(ctx, m)
	if s.State == session.Updating {
		if err := e.endUpdate(ctx, s.ID, box.Paused()); err != nil {
			return err
		}
	}
	e.adopted.Add(1)
	e.log.Info("session adopted", "session_id", s.ID, "state", s.State)
	return nil
}

// endUpdate puts a session whose rollback, or recovery, ended with its server to
// where the machine that it has stands.
func (e *Engine) endUpdate(ctx context.Context, sid id.Session, paused bool) error {
	cause := session.CauseRollbackReady
	if paused {
		cause = session.CauseRollbackPaused
	}
	err := e.change(ctx, sid, func(c *change) error {
		if paused && c.s.PauseReason == "" {
			c.s.PauseReason = session.PauseManual
		}
		return c.move(cause, "the server ended meanwhile; the session goes on with the sandbox that it has")
	})
	if err != nil {
		return fmt.Errorf("end interrupted update: %w", err)
	}
	return nil
}
