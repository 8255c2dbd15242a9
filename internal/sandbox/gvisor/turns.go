package gvisor

import (
	"context"
	"sync"
)

// turns lets one verb at a time act on a machine: the libraries allow no more,
// and two at once killed machines when it was tried. Verbs on different
// machines do not meet.
type turns struct {
	mu    sync.Mutex
	queue map[string]*turn
}

// turn is the right to act on one machine.
type turn struct {
	token chan struct{} // holds one token while nobody acts
	users int           // who acts or waits; guarded by turns.mu
}

// take waits for the machine's turn; give it back by calling release once.
func (t *turns) take(ctx context.Context, id string) (release func(), err error) {
	t.mu.Lock()
	if t.queue == nil {
		t.queue = map[string]*turn{}
	}
	q := t.queue[id]
	if q == nil {
		q = &turn{token: make(chan struct{}, 1)}
		q.token <- struct{}{}
		t.queue[id] = q
	}
	q.users++
	t.mu.Unlock()

	leave := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if q.users--; q.users == 0 {
			delete(t.queue, id)
		}
	}
	select {
	case <-q.token:
		return func() {
			q.token <- struct{}{}
			leave()
		}, nil
	case <-ctx.Done():
		leave()
		return nil, context.Cause(ctx)
	}
}
