package engine

import (
	"context"
	"sync"

	"paddock/internal/fault"
	"paddock/internal/id"
	"paddock/internal/logging"
)

// actor runs the verbs that drive one session's machine, one after the other.
// It costs a goroutine only while something waits to be done.
type actor struct {
	engine  *Engine
	session id.Session

	mu      sync.Mutex // guards what follows
	waiting []func(ctx context.Context)
	running bool
	stop    context.CancelFunc // ends the verb under way; nil when none is
	machine *machine           // the attached machine, nil when there is none
	owed    []byte             // handle of a lost machine that is not freed yet, and has no row any more
}

// post puts a verb at the end of the line.
func (a *actor) post(verb func(ctx context.Context)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.waiting = append(a.waiting, verb)
	if !a.running {
		a.running = true
		a.engine.crew.start(a.work)
	}
}

// do runs a verb in its turn and waits for it. A caller that leaves before its
// turn has come takes the verb along; once begun, a verb is finished, whoever
// waits.
func (a *actor) do(ctx context.Context, verb func(ctx context.Context) error) error {
	done := make(chan error, 1)
	a.post(func(life context.Context) {
		own := logging.Carry(life, ctx)
		if ctx.Err() != nil {
			done <- context.Cause(ctx)
			return
		}
		err := verb(own)
		if err != nil && own.Err() != nil && a.engine.ctx.Err() == nil {
			err = errRemoved
		}
		done <- err
	})
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-a.engine.ctx.Done():
		return errStopping
	}
}

// errRemoved answers a call whose verb was interrupted.
var errRemoved = fault.New(fault.Conflict, "the session is being removed; start a new session")

// interrupt ends the verb under way, if any: somebody removes the session.
func (a *actor) interrupt() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stop != nil {
		a.stop()
	}
}

func (a *actor) work() {
	for {
		a.mu.Lock()
		if len(a.waiting) == 0 {
			a.running = false
			a.mu.Unlock()
			return
		}
		verb := a.waiting[0]
		a.waiting = a.waiting[1:]
		ctx, cancel := context.WithCancel(a.engine.ctx)
		a.stop = cancel
		a.mu.Unlock()

		verb(ctx)

		a.mu.Lock()
		a.stop = nil
		a.mu.Unlock()
		cancel()
	}
}

// attach makes m the session's machine.
func (a *actor) attach(m *machine) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.machine = m
}

// detach takes the machine away and gives it to the caller.
func (a *actor) detach() *machine {
	a.mu.Lock()
	defer a.mu.Unlock()
	m := a.machine
	a.machine = nil
	return m
}

// owe has what is left of a lost machine freed by whoever clears next; nil: it is
// done.
func (a *actor) owe(handle []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.owed = handle
}

func (a *actor) owes() []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.owed
}

func (a *actor) attached() *machine {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.machine
}
