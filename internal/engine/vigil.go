package engine

import (
	"context"
	"io"
	"sync"
	"time"

	"paddock/internal/fault"
	"paddock/internal/guestapi"
)

// answerPatience is how long a machine call waits for a guest that is connected
// and says nothing, beyond the time the call may take by itself. Beside an agent
// that forks without end a guest takes about 4 s.
const answerPatience = 30 * time.Second

// errSilent is what a machine call gets whose guest does not answer: somebody
// with root's rights inside stopped it, or it has no room to run.
var errSilent = fault.New(fault.BadGateway, "the sandbox does not answer; try again, or remove the session")

// rouseAfter is how long a guest may leave a call unanswered before it is held
// possible that it was stopped. Many are longer, as they should: an exec that
// runs. To let go on who is not stopped costs well below a millisecond.
const rouseAfter = 2 * time.Second

// rouse lets the guest go on, once, if a call is not over after rouseAfter: root
// inside may have stopped it. The function returned ends that with the call.
func (m *machine) rouse(ctx context.Context) (over func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	timer := time.AfterFunc(rouseAfter, func() {
		defer close(done)
		m.letGuestGoOn(ctx)
	})
	return func() {
		cancel()
		if !timer.Stop() {
			<-done
		}
	}
}

func (m *machine) letGuestGoOn(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, answerPatience)
	defer cancel()
	if err := m.engine.driver.Continue(ctx, m.box.Handle()); err != nil && ctx.Err() == nil {
		m.engine.log.DebugContext(ctx, "let guest go on", "session_id", m.session, "error", err)
	}
}

// vigil ends a call whose guest keeps silent for too long. The time in which the
// machine is frozen does not count: what is in flight goes on after the pause.
type vigil struct {
	machine *machine
	cancel  context.CancelCauseFunc

	mu    sync.Mutex // guards what follows
	timer *time.Timer
	wait  time.Duration // how long the guest may be silent; 0: as long as it likes
	since time.Time     // of the silence
}

// watchOver gives a context that ends with errSilent once the guest has been
// silent for wait. The vigil has to be ended.
func (m *machine) watchOver(ctx context.Context, wait time.Duration) (context.Context, *vigil) {
	ctx, cancel := context.WithCancelCause(ctx)
	v := &vigil{machine: m, cancel: cancel}
	v.expect(wait)
	return ctx, v
}

// expect says that the guest is to be heard of within wait from now; 0 that
// nothing is expected of it.
func (v *vigil) expect(wait time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.wait, v.since = wait, time.Now()
	switch {
	case wait == 0 && v.timer != nil:
		v.timer.Stop()
	case wait == 0:
	case v.timer == nil:
		v.timer = time.AfterFunc(wait, v.look)
	default:
		v.timer.Reset(wait)
	}
}

// look ends the call if the guest was silent, and not frozen, for all the wait.
func (v *vigil) look() {
	rest, thawed := v.machine.restSince()
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.wait == 0 {
		return
	}
	if thawed.After(v.since) {
		v.since = thawed
	}
	left := v.wait - time.Since(v.since)
	switch {
	case rest == frozen:
		v.timer.Reset(v.wait)
	case left > 0:
		v.timer.Reset(left)
	default:
		v.cancel(errSilent)
		v.machine.doubt()
	}
}

// end ends the vigil and its context.
func (v *vigil) end() {
	v.expect(0)
	v.cancel(context.Canceled)
}

// askBriefly asks the guest what it has to answer within wait and answerPatience.
func askBriefly[T any](ctx context.Context, m *machine, wait time.Duration, call func(ctx context.Context, g guestapi.Guest) (T, error)) (T, error) {
	ctx, v := m.watchOver(ctx, wait+m.engine.patience)
	defer v.end()
	return ask(ctx, m, func(g guestapi.Guest) (T, error) { return call(ctx, g) })
}

// watchedBody is a file on its way: it holds the session awake until it is
// closed, and its guest may not stop in the middle. How fast it is taken does
// not matter.
type watchedBody struct {
	io.ReadCloser
	ctx     context.Context // of the call
	vigil   *vigil
	release func()
}

// Read gives errSilent when the guest does not go on.
func (b *watchedBody) Read(p []byte) (int, error) {
	b.vigil.expect(b.vigil.machine.engine.patience)
	n, err := b.ReadCloser.Read(p)
	b.vigil.expect(0)
	if err != nil && err != io.EOF && b.ctx.Err() != nil {
		err = context.Cause(b.ctx)
	}
	return n, err
}

// Close ends the reading; again is no error.
func (b *watchedBody) Close() error {
	if b.release == nil {
		return nil
	}
	b.release()
	b.release = nil
	b.vigil.end()
	return b.ReadCloser.Close()
}
