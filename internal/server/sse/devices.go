package sse

import (
	"context"
	"errors"
	"sync"
)

// errSuperseded ends a stream whose device has opened a newer one.
var errSuperseded = errors.New("a newer stream of the device took over")

// devices lets each device have one live stream of a history.
type devices struct {
	mu   sync.Mutex
	held map[device]*hold
}

type device struct {
	history string // Log.Name
	name    string
}

type hold struct{ end context.CancelCauseFunc }

// take gives a device's place to a new stream and ends the one that had it. The
// returned context ends when a newer one takes the place; release frees it.
func (d *devices) take(ctx context.Context, history, name string) (_ context.Context, release func()) {
	ctx, end := context.WithCancelCause(ctx)
	mine, key := &hold{end: end}, device{history, name}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.held == nil {
		d.held = map[device]*hold{}
	}
	if older := d.held[key]; older != nil {
		older.end(errSuperseded)
	}
	d.held[key] = mine
	return ctx, func() {
		end(nil)
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.held[key] == mine {
			delete(d.held, key)
		}
	}
}
