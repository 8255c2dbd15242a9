package guest

import (
	"context"
	"sync"
	"time"

	"paddock/internal/event"
	"paddock/internal/fault"
	"paddock/internal/guest/proc"
	"paddock/internal/guestapi"
	"paddock/internal/id"
)

// How a cancelled turn is ended, harder with each step. But for a machine so
// crowded that each look at a process is slow, they stay together below the 10 s
// in which the end is promised.
const (
	cancelGrace = 4 * time.Second  // the agent ends the turn by itself
	treeGrace   = 20 * time.Second // the turn's processes are gone: some milliseconds, but a tree that is given up goes on
	killGrace   = time.Second      // the agent notices that they are
)

// maxKnownRuns is how many runs are remembered, so that a repeated prompt
// starts nothing.
const maxKnownRuns = 10_000

// turns plays the turns of the agent, one at a time.
type turns struct {
	daemon *Daemon

	mu     sync.Mutex
	known  map[id.Run]bool // false: it was cancelled before its prompt came
	order  []id.Run
	active *turn
}

// turn is one that is being played.
type turn struct {
	run  id.Run
	done chan struct{} // closed when the adapter has returned
	stop chan struct{} // closed when whoever ends it is done with that; see end

	mu        sync.Mutex
	cancelled bool
	over      bool // the adapter has returned: a cancel comes too late
	began     bool
	before    proc.Past // the agent's tree when the turn began
}

func (t *turns) prompt(adapter Adapter, run id.Run, prompt guestapi.Prompt) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, again := t.known[run]; again {
		return nil
	}
	if t.active != nil {
		return fault.New(fault.Conflict, "the turn of %s is running", t.active.run)
	}
	t.remember(run, true)
	u := &turn{run: run, done: make(chan struct{}), stop: make(chan struct{})}
	t.active = u
	t.daemon.work.Go(func() { t.play(adapter, u, prompt) })
	return nil
}

// remember notes a run, and forgets the oldest. Locked.
func (t *turns) remember(run id.Run, begins bool) {
	if t.known == nil {
		t.known = map[id.Run]bool{}
	}
	t.known[run] = begins
	t.order = append(t.order, run)
	if len(t.order) > maxKnownRuns {
		delete(t.known, t.order[0])
		t.order = t.order[1:]
	}
}

func (t *turns) play(adapter Adapter, u *turn, prompt guestapi.Prompt) {
	d := t.daemon
	s := &sink{ctx: d.ctx, journal: d.journal, run: u.run.String(), begin: func() { u.begin(proc.Remember(d.tree, int(d.relief.agent.Load()))) }, last: time.Now()}
	end := adapter.Turn(d.ctx, prompt, s)
	if u.close() {
		<-u.stop                 // what ends this turn must not hit the next
		d.killTurn(u, treeGrace) // what the agent left running must not outlive a cancel
		// A cancel that was acked holds, also with an agent that did not heed it.
		end.Outcome, end.Code, end.Message = guestapi.EndCancelled, 0, ""
	}
	// The host may start the next turn as soon as it has the end.
	t.mu.Lock()
	t.active = nil
	t.mu.Unlock()
	s.end(end)
}

func (u *turn) begin(before proc.Past) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.began, u.before = true, before
}

// close says that the adapter has returned, and gives whether the turn was
// cancelled before.
func (u *turn) close() (cancelled bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.over = true
	close(u.done)
	return u.cancelled
}

func (t *turns) cancel(adapter Adapter, run id.Run) guestapi.CancelOutcome {
	t.mu.Lock()
	defer t.mu.Unlock()
	if u := t.active; u != nil && u.run == run {
		return t.end(adapter, u)
	}
	began, known := t.known[run]
	switch {
	case began:
		return guestapi.CancelEnded
	case !known:
		t.remember(run, false) // its prompt, which may be on the way, is to start nothing
	}
	return guestapi.CancelNoTurn
}

// keep ends the turn that is being played, unless it is that of run ("" is that
// of none): the host has given it up.
func (t *turns) keep(adapter Adapter, run string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if u := t.active; u != nil && u.run.String() != run {
		t.end(adapter, u)
	}
}

// end begins to end a turn, once.
func (t *turns) end(adapter Adapter, u *turn) guestapi.CancelOutcome {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case u.cancelled:
		return guestapi.CancelAcked
	case u.over:
		return guestapi.CancelEnded
	}
	u.cancelled = true
	t.daemon.work.Go(func() {
		defer close(u.stop)
		t.daemon.endTurn(adapter, u)
	})
	return guestapi.CancelAcked
}

// endTurn ends a cancelled turn: by asking, then by killing what it started,
// then by killing the agent.
func (d *Daemon) endTurn(adapter Adapter, u *turn) {
	adapter.Cancel()
	if u.endsWithin(d.ctx, cancelGrace) {
		return
	}
	d.killTurn(u, treeGrace)
	if u.endsWithin(d.ctx, killGrace) {
		return
	}
	adapter.Kill()
}

func (u *turn) endsWithin(ctx context.Context, grace time.Duration) bool {
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-u.done:
		return true
	case <-ctx.Done():
		return true // the daemon ends, and everything with it
	case <-timer.C:
		return false
	}
}

// killTurn ends every process that the agent's tree has started since the turn
// began. What earlier turns left running (and what that starts by itself), the
// agent itself and execs live on.
func (d *Daemon) killTurn(u *turn, grace time.Duration) {
	u.mu.Lock()
	began, before := u.began, u.before
	u.mu.Unlock()
	if !began {
		return
	}
	defer d.relief.bar()()
	ctx, cancel := context.WithTimeout(d.ctx, grace)
	defer cancel()
	proc.KillTree(ctx, d.tree, before)
}

// noTurnLog is the sink of entries that belong to no turn.
func (d *Daemon) noTurnLog(l event.Log, source Source) {
	(&sink{ctx: d.ctx, journal: d.journal}).Log(l, source)
}
