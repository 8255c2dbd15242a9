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

// How a cancelled turn is ended, harder with each step; together they stay
// below the 10 s in which the end is promised.
const (
	cancelGrace = 5 * time.Second         // the agent ends the turn by itself
	treeGrace   = 1500 * time.Millisecond // the turn's processes are gone
	killGrace   = time.Second             // the agent notices that they are
)

// maxKnownRuns is how many runs are remembered, so that a repeated prompt
// starts nothing.
const maxKnownRuns = 10_000

// turns plays the turns of the agent, one at a time.
type turns struct {
	daemon *Daemon

	mu     sync.Mutex
	known  map[id.Run]bool
	order  []id.Run
	active *turn
}

// turn is one that is being played.
type turn struct {
	run  id.Run
	done chan struct{} // closed when the adapter has returned

	mu        sync.Mutex
	cancelled bool
	killed    bool // processes of it were killed because it did not end by itself
	began     bool
	before    []proc.Task // the agent's tree when the turn began
}

func (t *turns) prompt(adapter Adapter, run id.Run, prompt guestapi.Prompt) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known[run] {
		return nil
	}
	if t.active != nil {
		return fault.New(fault.Conflict, "the turn of %s is running", t.active.run)
	}
	t.remember(run)
	u := &turn{run: run, done: make(chan struct{})}
	t.active = u
	t.daemon.work.Go(func() { t.play(adapter, u, prompt) })
	return nil
}

// remember notes a run, and forgets the oldest. Locked.
func (t *turns) remember(run id.Run) {
	if t.known == nil {
		t.known = map[id.Run]bool{}
	}
	t.known[run] = true
	t.order = append(t.order, run)
	if len(t.order) > maxKnownRuns {
		delete(t.known, t.order[0])
		t.order = t.order[1:]
	}
}

func (t *turns) play(adapter Adapter, u *turn, prompt guestapi.Prompt) {
	d := t.daemon
	s := &sink{ctx: d.ctx, journal: d.journal, run: u.run.String(), begin: func() { u.begin(d.options.TreeGroup) }}
	end := adapter.Turn(d.ctx, prompt, s)
	close(u.done)
	cancelled, killed := u.state()
	if cancelled {
		d.killTurn(u, treeGrace) // what the agent left running must not outlive a cancel
	}
	if killed && end.Outcome == guestapi.EndCompleted {
		end = guestapi.End{Outcome: guestapi.EndCancelled, Text: end.Text} // completed by an agent that lost its tools to us
	}
	// The host may start the next turn as soon as it has the end.
	t.mu.Lock()
	t.active = nil
	t.mu.Unlock()
	s.end(end)
}

func (u *turn) begin(group uint32) {
	before := proc.Scan(group)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.began, u.before = true, before
}

func (u *turn) state() (cancelled, killed bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.cancelled, u.killed
}

func (t *turns) cancel(adapter Adapter, run id.Run) guestapi.CancelOutcome {
	t.mu.Lock()
	u := t.active
	if u == nil || u.run != run {
		if !t.known[run] {
			t.remember(run) // its prompt, which may be on the way, is to start nothing
		}
		t.mu.Unlock()
		return guestapi.CancelNoTurn
	}
	t.mu.Unlock()
	u.mu.Lock()
	again := u.cancelled
	u.cancelled = true
	u.mu.Unlock()
	if !again {
		t.daemon.work.Go(func() { t.daemon.endTurn(adapter, u) })
	}
	return guestapi.CancelAcked
}

// endTurn ends a cancelled turn: by asking, then by killing what it started,
// then by killing the agent.
func (d *Daemon) endTurn(adapter Adapter, u *turn) {
	adapter.Cancel()
	if u.endsWithin(d.ctx, cancelGrace) {
		return
	}
	u.mu.Lock()
	u.killed = true
	u.mu.Unlock()
	d.killTurn(u, treeGrace)
	if u.endsWithin(d.ctx, killGrace) {
		return
	}
	adapter.Kill()
	u.endsWithin(d.ctx, killGrace)
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
// began. What earlier turns left running, the agent itself and execs live on.
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
	proc.KillTree(ctx, d.options.TreeGroup, before)
}

// noTurnLog is the sink of entries that belong to no turn.
func (d *Daemon) noTurnLog(l event.Log, source Source) {
	(&sink{ctx: d.ctx, journal: d.journal}).Log(l, source)
}
