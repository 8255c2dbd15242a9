package engine

import (
	"context"
	"sync"
	"time"

	"paddock/internal/store"
)

// forgetEvery is how often it is looked for histories that have been kept long
// enough; more often when they are kept for less.
const forgetEvery = time.Minute

// forgetBatch is how many rows go in one transaction. Others write in between,
// so it bounds how long an append waits for the past.
const forgetBatch = 256

// retention forgets the sessions that were destroyed a while ago, with all that
// was kept of them.
type retention struct {
	after time.Duration // since they were destroyed; 0: never

	mu   sync.Mutex
	next time.Time // when to look again
	busy bool
}

// due says whether to look now; whoever is told so calls done.
func (r *retention) due(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.after <= 0 || r.busy || now.Before(r.next) {
		return false
	}
	r.next = now.Add(min(forgetEvery, r.after))
	r.busy = true
	return true
}

func (r *retention) done() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy = false
}

// forgetOld forgets in the background what is due.
func (e *Engine) forgetOld(now time.Time) {
	if !e.retention.due(now) {
		return
	}
	before := now.Add(-e.retention.after)
	started := e.spawn(func(ctx context.Context) {
		defer e.retention.done()
		switch rows, err := e.forgetBefore(ctx, before); {
		case err != nil && ctx.Err() == nil:
			e.log.Error("forget destroyed sessions", "rows", rows, "error", err)
		case rows > 0:
			e.log.Info("destroyed sessions forgotten", "rows", rows, "before", before)
		}
	})
	if !started {
		e.retention.done()
	}
}

// forgetBefore forgets what was destroyed before a moment, in pieces.
func (e *Engine) forgetBefore(ctx context.Context, before time.Time) (rows int, err error) {
	for {
		n := 0
		err := e.store.Update(ctx, func(tx store.Tx) (err error) {
			n, err = tx.ForgetDestroyed(before, forgetBatch)
			return err
		})
		if err != nil {
			return rows, err
		}
		rows += n
		if n < forgetBatch {
			return rows, nil
		}
	}
}
