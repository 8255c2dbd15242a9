package engine

import (
	"context"
	"fmt"
	"sync"
	"time"

	"paddock/internal/notify"
	"paddock/internal/store"
)

const (
	// noticesAtOnce is how many notices go out by one channel at the same time.
	noticesAtOnce = 8
	// firstRetry is how long a notice that was not taken waits before the next
	// attempt; each further time is twice as long, up to lastRetry.
	firstRetry, lastRetry = time.Second, 10 * time.Minute
	// noticeLife is for how long it is tried.
	noticeLife = 72 * time.Hour
)

// courier takes the stored notices of one channel to their receiver, each until
// it was taken. One whose delivery was interrupted goes again, under its id.
type courier struct {
	engine  *Engine
	channel notify.Channel
	wake    chan struct{} // holds one when something may be due
}

// rouse says that something may be due.
func (k *courier) rouse() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// run delivers until the engine stops.
func (k *courier) run() {
	tick := time.NewTicker(clockTick)
	defer tick.Stop()
	for {
		if k.round(k.engine.ctx) == noticesAtOnce {
			continue // there may be more
		}
		select {
		case <-k.engine.ctx.Done():
			return
		case <-tick.C:
		case <-k.wake:
		}
	}
}

// round delivers what is due, as much as goes out at once, and says how much
// that was.
func (k *courier) round(ctx context.Context) int {
	e := k.engine
	due, err := e.store.DueNotices(ctx, k.channel.Name(), e.now(), noticesAtOnce)
	if err != nil {
		k.complain(ctx, "read notices", err)
		return 0
	}
	if len(due) == 0 {
		return 0
	}
	failed := make([]error, len(due))
	var group sync.WaitGroup
	for i, n := range due {
		group.Go(func() {
			failed[i] = k.channel.Deliver(ctx, notify.Notice{ID: n.ID.String(), Type: string(n.Kind), Body: n.Body})
		})
	}
	group.Wait()
	// Without ctx: what was taken is not to go again because the server stops.
	err = e.store.Update(context.WithoutCancel(ctx), func(tx store.Tx) error {
		for i, n := range due {
			if err := k.settle(tx, n, failed[i]); err != nil {
				return err
			}
		}
		_, err := tx.DeleteNotices(e.now().Add(-noticeLife), sweep)
		return err
	})
	if err != nil {
		k.complain(ctx, "store deliveries", err)
		return 0
	}
	return len(due)
}

// settle forgets a notice that was taken, and puts off another.
func (k *courier) settle(tx store.Tx, n store.Notice, failed error) error {
	e := k.engine
	if failed == nil {
		return tx.DeleteNotice(n.ID)
	}
	if e.ctx.Err() != nil {
		return nil // it was given up, not refused: the next server goes on
	}
	n.Attempts++
	if e.now().Sub(n.CreatedAt) >= noticeLife {
		e.log.Error("notice given up", "session_id", n.Session, "notice_id", n.ID, "channel", n.Channel, "attempts", n.Attempts, "error", failed)
		return tx.DeleteNotice(n.ID)
	}
	wait := retryAfter(n.Attempts)
	n.DueAt = e.now().Add(wait)
	e.log.Warn("notice not taken", "session_id", n.Session, "notice_id", n.ID, "channel", n.Channel, "attempts", n.Attempts, "error", failed, "again_in", wait)
	if err := tx.SaveNotice(n); err != nil {
		return fmt.Errorf("put off notice: %w", err)
	}
	return nil
}

// retryAfter is how long to wait after so many failed attempts.
func retryAfter(attempts int) time.Duration {
	wait := firstRetry
	for range attempts - 1 {
		if wait *= 2; wait >= lastRetry {
			return lastRetry
		}
	}
	return wait
}

func (k *courier) complain(ctx context.Context, what string, err error) {
	if ctx.Err() == nil {
		k.engine.log.Error(what, "channel", k.channel.Name(), "error", err)
	}
}
