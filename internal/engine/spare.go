package engine

import (
	"context"
	"fmt"
	"sync"
	"time"

	"paddock/internal/guestapi"
	"paddock/internal/id"
	"paddock/internal/sandbox"
)

// spareDeadline bounds the making of a spare.
const spareDeadline = 60 * time.Second

// spareHostname is what a machine is called that is nobody's.
const spareHostname = "paddock"

// spare is a started machine that is nobody's yet. Its guest has said hello and
// waits to be welcomed.
type spare struct {
	kind   kind
	id     id.Sandbox
	handle []byte // encoded
	box    sandbox.Machine
	caller *guestapi.Caller
	taken  chan struct{} // closed once it has left the pool
}

// letGo closes what is held of a spare; its machine runs on.
func (s *spare) letGo() {
	_ = s.caller.Close()
	_ = s.box.Close()
}

// makeSpare starts a machine for nobody and waits for its guest. On error
// nothing of it is left.
func (e *Engine) makeSpare(ctx context.Context, k kind) (_ *spare, err error) {
	ctx, cancel := context.WithTimeout(ctx, spareDeadline)
	defer cancel()
	sp := &spare{kind: k, id: id.New[id.Sandbox](), taken: make(chan struct{})}
	spec := sandbox.Spec{ID: sp.id.String(), Hostname: spareHostname, Template: k.template, Size: k.size}
	handle, err := e.driver.Plan(spec)
	if err != nil {
		return nil, fmt.Errorf("plan sandbox: %w", err)
	}
	if sp.handle, err = handle.Encode(); err != nil {
		return nil, fmt.Errorf("encode handle: %w", err)
	}
	// Nothing is stored: a spare that outlives its server is a stranger to the
	// next one, which removes it.
	if sp.box, err = e.driver.Start(ctx, handle, spec); err != nil {
		return nil, fmt.Errorf("start sandbox: %w", err)
	}
	if sp.caller, err = receive(ctx, sp.box); err != nil {
		e.destroySpare(context.WithoutCancel(ctx), sp)
		return nil, fmt.Errorf("wait for guest: %w", err)
	}
	return sp, nil
}

// receive waits for a machine's guest to say hello.
func receive(ctx context.Context, box sandbox.Machine) (*guestapi.Caller, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-box.Done():
			cancel(errSandboxLost)
		case <-ctx.Done():
		}
	})
	defer watch.Wait()
	defer cancel(nil)
	// Who gives up on the guest has no more use for the listener.
	defer context.AfterFunc(ctx, func() { _ = box.Control().Close() })()
	for {
		conn, err := box.Control().Accept()
		if err != nil {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return nil, err
		}
		caller, err := guestapi.Receive(ctx, conn, box.Secret())
		if err == nil || ctx.Err() != nil {
			return caller, err
		}
	}
}

// destroySpare ends a spare that is not in the pool.
func (e *Engine) destroySpare(ctx context.Context, sp *spare) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.tries.limit)
	defer cancel()
	if sp.caller != nil {
		_ = sp.caller.Close()
	}
	if err := e.driver.Destroy(ctx, sp.box.Handle()); err != nil {
		e.log.Error("destroy spare sandbox", "sandbox_id", sp.id, "error", err) // the next server's start removes it
	}
	_ = sp.box.Close()
}
