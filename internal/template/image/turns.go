package image

import (
	"context"
	"sync"
)

// turns let one at a time work at each name.
type turns struct {
	mu   sync.Mutex
	open map[string]*turn
}

type turn struct {
	token   chan struct{}
	waiting int
}

// take waits for the turn of a name; done gives it back.
func (t *turns) take(ctx context.Context, name string) (done func(), err error) {
	t.mu.Lock()
	if t.open == nil {
		t.open = map[string]*turn{}
	}
	one := t.open[name]
	if one == nil {
		one = &turn{token: make(chan struct{}, 1)}
		t.open[name] = one
	}
	one.waiting++
	t.mu.Unlock()
	leave := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if one.waiting--; one.waiting == 0 {
			delete(t.open, name)
		}
	}
	select {
	case one.token <- struct{}{}:
		return func() { <-one.token; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, context.Cause(ctx)
	}
}
