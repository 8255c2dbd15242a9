package engine

import (
	"context"
	"time"

	"paddock/internal/id"
)

// clockTick is how often due times are looked at; idle timeouts and run limits
// are whole seconds at the least.
const clockTick = time.Second

// watchClock does what is due until the engine stops.
func (e *Engine) watchClock() {
	tick := time.NewTicker(clockTick)
	defer tick.Stop()
	for {
		select {
		case <-e.ctx.Done():
			return
		case <-tick.C:
			e.tick(e.now())
		}
	}
}

// tick pauses idle sessions, ends overdue runs, looks after silent ones, saves files, decides
// what nobody answered, removes images that nothing needs and forgets what was kept long enough. It looks at
// attached machines in memory, and asks the store for nothing but what is due.
func (e *Engine) tick(now time.Time) {
	for _, a := range e.allActors() {
		m := a.attached()
		if m == nil {
			continue
		}
		if m.lookForSilence(now) {
			e.spawn(func(ctx context.Context) { e.warnOfSilence(ctx, m) })
		}
		if m.lookForHeld(now) {
			e.spawn(func(ctx context.Context) { e.showStalled(ctx, m) })
		}
		if m.unreachable(now) {
			m.inquire(1) // the last time, for it was awaited all the while
		}
		e.saveDue(m, now)
		switch idle, over := m.due(now); {
		case over:
			e.overdue(m)
		case idle > 0:
			e.pauseIdle(a, m, idle)
		}
	}
	if e.images.untidy.Swap(false) {
		e.spawn(e.tidyImages)
	}
	e.timeOutApprovals(now)
	e.saveActivity(activityEvery)
	e.forgetOld(now)
}

// due says for how long a machine has been idle (0 when it is not, or not for
// too long), and whether its run is past its limit.
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
	return m.idleFor(now), false
}

// clockRun sets or stops the clock of a session's running run.
func (e *Engine) clockRun(sid id.Session, deadline time.Time) {
	if m := e.machineOf(sid); m != nil {
		m.runUntil(deadline)
	}
}
