package engine

import (
	"context"
	"errors"
	"time"

	"paddock/internal/session"
	"paddock/internal/store"
)

// A session is idle while nothing of this happens: inputs, events of its runs,
// starts of machine calls, bytes of transfers. The time of the last activity is
// kept in memory. What writes an event is in the history anyway (LastEventAt);
// the rest is stored every activityEvery while it goes on, however much it is.

// activityEvery is how often activity that leaves no event is stored.
const activityEvery = 10 * time.Second

// idleRetry is how long a session that could not be paused for being idle is
// left alone.
const idleRetry = time.Minute

// rest says whether a machine runs, as its actor knows it.
type rest string

const (
	awake    rest = ""
	freezing rest = "freezing" // on the way into a pause, or back
	frozen   rest = "frozen"
)

// lastActivity is when a session that is taken up was last active, as far as the
// store knows. What it does not know is at most activityEvery old: the session
// is given that time, so that it never pauses too early.
func lastActivity(s session.Session, now time.Time) (active, stored time.Time) {
	stored = s.ActiveAt
	if s.LastEventAt.After(stored) {
		stored = s.LastEventAt
	}
	if active = stored.Add(activityEvery); active.After(now) {
		active = now
	}
	return active, stored
}

// touch notes activity that is in the history.
func (m *machine) touch() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.active = m.engine.now()
	m.stored = m.active
}

// keepAwake notes that a machine call is under way; the returned function that
// it has ended.
func (m *machine) keepAwake() (release func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.holds++
	m.active = m.engine.now()
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.holds--
		m.active = m.engine.now()
	}
}

// held says whether a machine call is under way.
func (m *machine) held() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.holds > 0
}

// resting says whether the machine is frozen, or may be in a moment.
func (m *machine) resting() rest {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rest
}

func (m *machine) setRest(r rest) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.rest != awake && r == awake {
		m.thawed = time.Now()
	}
	m.rest = r
}

// restSince says whether the machine is frozen, and when it last was so.
func (m *machine) restSince() (r rest, thawed time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rest, m.thawed
}

// idleFor says for how long the machine has been idle, when that is long enough
// for a pause; else 0. Locked.
func (m *machine) idleFor(now time.Time) time.Duration {
	if m.holds > 0 {
		m.active = now
	}
	idle := now.Sub(m.active)
	if m.quiet <= 0 || m.rest != awake || idle < m.quiet || now.Sub(m.idleAsk) < idleRetry {
		return 0
	}
	m.idleAsk = now
	return idle
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

// pauseIdle pauses a session that nobody uses, unless somebody comes after all.
func (e *Engine) pauseIdle(a *actor, m *machine, idle time.Duration) {
	a.post(func(ctx context.Context) {
		s, err := e.store.SessionByID(ctx, a.session)
		if err != nil || s.State != session.Ready || s.KeepWarm || m.held() || a.attached() != m {
			return
		}
		if r, err := activeRun(ctx, e.store, s.ID); err != nil || r != nil {
			return
		}
		e.log.Info("session is idle", "session_id", s.ID, "idle", idle.Round(time.Second))
		err = e.freeze(ctx, a, session.PauseIdle, func(session.Session) bool { return !m.held() })
		if err != nil && !errors.Is(err, errBusy) && ctx.Err() == nil {
			e.log.Error("pause idle session", "session_id", s.ID, "error", err)
		}
	})
}

// saveActivity stores when sessions were last active, in one transaction, where
// the store's knowledge is older than that by age or more.
func (e *Engine) saveActivity(age time.Duration) {
	late := map[*machine]time.Time{}
	for _, a := range e.allActors() {
		if m := a.attached(); m != nil {
			if at, ok := m.unstored(age); ok {
				late[m] = at
			}
		}
	}
	if len(late) == 0 {
		return
	}
	// Without the engine's context: the last of it is stored while it stops.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.ctx), activityEvery)
	defer cancel()
	err := e.store.Update(ctx, func(tx store.Tx) error {
		for m, at := range late {
			s, err := tx.SessionByID(ctx, m.session)
			if err != nil {
				return err
			}
			if s.State != session.Ready {
				continue
			}
			s.ActiveAt = at
			if err := tx.UpdateSession(&s); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		e.log.Error("store activity", "sessions", len(late), "error", err)
		return
	}
	for m, at := range late {
		m.mu.Lock()
		m.stored = at
		m.mu.Unlock()
	}
}

// unstored gives the time of the last activity when the store's is older by age
// or more.
func (m *machine) unstored(age time.Duration) (at time.Time, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.active, m.rest == awake && m.active.After(m.stored) && m.active.Sub(m.stored) >= age
}
