package guest

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"paddock/internal/guest/proc"
)

// Every process of a machine gets the same share of it: nothing inside gives a
// process more. Beside two hundred processes that fork without end, /bin/true
// was measured to take a minute; so execs are given room.
const (
	// reliefAfter is how long an exec may take before room is looked for. Most
	// are over by then.
	reliefAfter = 500 * time.Millisecond
	// reliefHold is how long the tree is stopped at most, at first: each time
	// that this was not enough it is twice as long, up to reliefMost. reliefRest
	// is how long the tree runs in between.
	reliefHold = 2 * time.Second
	reliefMost = 8 * time.Second
	reliefRest = 2 * time.Second
	// reliefSpan is for how long an exec is given room once it has started: a
	// server that somebody runs for hours is no reason to slow the agent down.
	reliefSpan = 30 * time.Second
)

// relief stops the agent's tree in a crowded machine, but not the agent itself,
// for moments in which an exec would otherwise not come through.
type relief struct {
	tree  *proc.Tree
	agent atomic.Int64 // pid of the agent itself
	many  int          // processes from which on the machine is held to be crowded; 0: never

	mu      sync.Mutex
	wants   int           // young execs under way
	barred  int           // somebody else is at the tree
	holding bool          // the tree is stopped, or about to be
	changed chan struct{} // closed and replaced at each change
}

// newRelief takes a machine to be crowded when it has half of the tasks that the
// agent may have.
func newRelief(options Options, tree *proc.Tree) *relief {
	return &relief{tree: tree, many: int(options.AgentTasks / 2), changed: make(chan struct{})}
}

// change does f under the lock and wakes everybody.
func (r *relief) change(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
	close(r.changed)
	r.changed = make(chan struct{})
}

// want says that an exec begins; the function returned, that it has come
// through. It may be called again.
func (r *relief) want() (enough func()) {
	r.change(func() { r.wants++ })
	return sync.OnceFunc(func() { r.change(func() { r.wants-- }) })
}

// bar lets the tree go on, if it is stopped, and keeps it from being stopped
// until allow is called. It returns when nothing is stopped any more.
func (r *relief) bar() (allow func()) {
	r.change(func() { r.barred++ })
	r.await(context.Background(), 0, func() bool { return !r.holding })
	return func() { r.change(func() { r.barred-- }) }
}

// await waits until done says yes, at most wait (0: without limit), or until
// ctx is over, and says whether done said yes.
func (r *relief) await(ctx context.Context, wait time.Duration, done func() bool) bool {
	var over <-chan time.Time
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		over = timer.C
	}
	for {
		r.mu.Lock()
		yes, changed := done(), r.changed
		r.mu.Unlock()
		if yes {
			return true
		}
		select {
		case <-changed:
		case <-over:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// run gives relief until ctx is over.
func (r *relief) run(ctx context.Context) {
	long := reliefHold
	for ctx.Err() == nil {
		if !r.await(ctx, 0, func() bool { return r.wants > 0 && r.barred == 0 }) {
			return
		}
		if r.await(ctx, reliefAfter, r.needless) {
			long = reliefHold
			continue
		}
		if r.hold(ctx, long) {
			long = reliefHold
		} else {
			long = min(2*long, reliefMost)
		}
		r.await(ctx, reliefRest, func() bool { return false })
	}
}

func (r *relief) needless() bool { return r.wants == 0 || r.barred > 0 }

// hold stops the tree, if it is busy, until nobody needs that any more; false
// when somebody still does after long.
func (r *relief) hold(ctx context.Context, long time.Duration) (enough bool) {
	start := false
	r.change(func() {
		start = !r.needless()
		r.holding = start
	})
	if !start {
		return true
	}
	enough = true
	if r.many > 0 && len(proc.Pids()) >= r.many {
		release := proc.Hold(r.tree, int(r.agent.Load()))
		enough = r.await(ctx, long, r.needless)
		release()
	}
	r.change(func() { r.holding = false })
	return enough
}
