package engine

import (
	"context"
	"errors"
	"time"

	"paddock/internal/id"
	"paddock/internal/session"
)

// clockTick is how often due times are looked at; idle timeouts and run limits
// are whole seconds at the least.
const clockTick = time.Second

// watchClock pauses idle sessions and ends overdue runs. It looks at attached
// machines only, in memory.
func (e *Engine) watchClock() {
	tick := time.NewTicker(clockTick)
	defer tick.Stop()
	for {
		select {
		case <-e.ctx.Done():
			return
		case <-tick.C:
		}
		now := e.now()
		for _, a := range e.allActors() {
			m := a.attached()
			if m == nil {
				continue
			}
			switch idle, over := m.due(now); {
			case over:
				e.overdue(m)
			case idle > 0:
				e.pauseIdle(a, idle)
			}
		}
	}
}

// due says for how long a machine has been idle (0 when it is not), and whether
// its run is past its limit.
func (m *machine) due(now time.Time) (idle time.Duration, over bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.runEnds.IsZero() {
		if now.After(m.runEnds) {
			m.runEnds = time.Time{}
			return 0, true
		}
		return 0, false
	}
	if m.holds > 0 || m.quiet <= 0 {
		return 0, false
	}
	if idle = now.Sub(m.active); idle < m.quiet {
		return 0, false
	}
	m.active = now // ask again only after another timeout, if it cannot be paused
	return idle, false
}

// idleAt is when the machine will have been idle for too long if nothing
// happens before; zero while something holds it awake.
func (m *machine) idleAt() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.holds > 0 || m.quiet <= 0 || !m.runEnds.IsZero() {
		return time.Time{}
	}
	return m.active.Add(m.quiet)
}

// pauseIdle pauses a session that nobody uses, unless a run is active after all.
func (e *Engine) pauseIdle(a *actor, idle time.Duration) {
	a.post(func(ctx context.Context) {
		s, err := e.store.SessionByID(ctx, a.session)
		if err != nil || s.State != session.Ready || s.KeepWarm {
			return
		}
		if r, err := activeRun(ctx, e.store, s.ID); err != nil || r != nil {
			return
		}
		e.log.Info("session is idle", "session_id", s.ID, "idle", idle.Round(time.Second))
		if err := e.freeze(ctx, a, session.PauseIdle, nil); err != nil && !errors.Is(err, errBusy) && ctx.Err() == nil {
			e.log.Error("pause idle session", "session_id", s.ID, "error", err)
		}
	})
}

// clockRun sets or stops the clock of a session's running run.
func (e *Engine) clockRun(sid id.Session, deadline time.Time) {
	if m := e.machineOf(sid); m != nil {
		m.runUntil(deadline)
	}
}
