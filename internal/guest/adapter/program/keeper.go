package program

import (
	"context"
	"errors"
	"sync"
)

// ErrShutdown is why no agent is brought up any more.
var ErrShutdown = errors.New("the machine is shutting down")

// Running is an agent that was started, with its conversation.
type Running interface {
	comparable
	Ended() bool           // see Program
	Gone() <-chan struct{} // see Program
	Kill()
	Wait()
}

// Keeper keeps one agent up: it is brought up where it is not, or not any more.
// It is safe for concurrent use.
type Keeper[P Running] struct {
	open func() (P, error)
	life context.Context // ends with Close
	stop context.CancelFunc
	work sync.WaitGroup

	mu     sync.Mutex
	newest *Attempt[P] // nil before the first
}

// Attempt is one try to bring an agent up.
type Attempt[P Running] struct {
	Done    chan struct{} // closed when it is over
	Process P             // valid once Done is closed, zero with Err
	Err     error         // likewise
}

// NewKeeper makes a Keeper of the agent that open starts; nothing of an agent
// for which open gives an error may run.
func NewKeeper[P Running](open func() (P, error)) *Keeper[P] {
	life, stop := context.WithCancel(context.Background())
	return &Keeper[P]{open: open, life: life, stop: stop}
}

// Life ends with Close.
func (k *Keeper[P]) Life() context.Context { return k.life }

// BringUp gives the attempt that leads to a running agent: the newest one,
// unless that failed or its agent has ended since.
func (k *Keeper[P]) BringUp() *Attempt[P] {
	k.mu.Lock()
	defer k.mu.Unlock()
	if t := k.newest; t != nil && t.hopeful() {
		return t
	}
	t := &Attempt[P]{Done: make(chan struct{})}
	k.newest = t
	if k.life.Err() != nil {
		t.Err = ErrShutdown
		close(t.Done)
		return t
	}
	k.work.Go(func() {
		defer close(t.Done)
		t.Process, t.Err = k.open()
	})
	return t
}

// hopeful says whether the attempt still goes on or has a living agent.
func (t *Attempt[P]) hopeful() bool {
	select {
	case <-t.Done:
		return t.Err == nil && !t.Process.Ended()
	default:
		return true
	}
}

// Mind ends the agent with the Keeper. It returns at once; Close waits until
// nothing of the agent is left.
func (k *Keeper[P]) Mind(p P) {
	k.work.Go(func() {
		select {
		case <-k.life.Done():
			p.Kill()
		case <-p.Gone():
		}
		p.Wait()
	})
}

// Running gives the agent that is up, or zero.
func (k *Keeper[P]) Running() (none P) {
	k.mu.Lock()
	t := k.newest
	k.mu.Unlock()
	if t == nil {
		return none
	}
	select {
	case <-t.Done:
		return t.Process
	default:
		return none
	}
}

// Kill ends the agent that is up, if one is.
func (k *Keeper[P]) Kill() {
	var none P
	if p := k.Running(); p != none {
		p.Kill()
	}
}

// Close ends the agent for good and returns when nothing of it runs any more.
func (k *Keeper[P]) Close() {
	k.stop()
	k.work.Wait()
}
