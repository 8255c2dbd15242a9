package claude

import (
	"context"
	"fmt"
	"sync"
	"time"

	"paddock/internal/event"
	"paddock/internal/guest"
	"paddock/internal/guest/adapter/program"
	"paddock/internal/guestapi"
)

// startTimeout is how long the agent may take to start: a second, but a machine
// may be crowded.
const startTimeout = 2 * time.Minute

// adapter drives one agent; it implements guest.Adapter.
type adapter struct {
	agent    guestapi.Agent
	dir      string
	services guest.Services
	patience time.Duration   // startTimeout
	life     context.Context // ends with Close
	stop     context.CancelFunc
	work     sync.WaitGroup
	quiet    program.Stderr

	mu      sync.Mutex
	attempt *attempt // the newest; nil before the first
	session string   // the agent's own id of the conversation; "" before the first turn
	turn    *turn    // the one being played
	total   int64    // that the conversation cost, in micro-dollars
}

// attempt is one try to bring the agent up.
type attempt struct {
	done    chan struct{}
	process *process // valid once done is closed, nil with err
	err     error
}

var _ guest.NewAdapter = New

// New makes an adapter for Claude Code; it is a guest.NewAdapter.
func New(agent guestapi.Agent, services guest.Services) guest.Adapter {
	life, stop := context.WithCancel(context.Background())
	a := &adapter{agent: agent, dir: agent.Dir, services: services, patience: startTimeout, life: life, stop: stop}
	if a.dir == "" {
		a.dir = guestapi.Workspace
	}
	return a
}

// Start is part of guest.Adapter.
func (a *adapter) Start() { a.bringUp() }

// bringUp gives the attempt that leads to a running agent: the newest one,
// unless that failed or its agent has ended since.
func (a *adapter) bringUp() *attempt {
	a.mu.Lock()
	defer a.mu.Unlock()
	if t := a.attempt; t != nil && t.hopeful() {
		return t
	}
	t, session := &attempt{done: make(chan struct{})}, a.session
	a.attempt = t
	if a.life.Err() != nil {
		t.err = errShutdown
		close(t.done)
		return t
	}
	a.work.Go(func() {
		defer close(t.done)
		t.process, t.err = a.open(session)
	})
	return t
}

// hopeful says whether the attempt still goes on or has a living agent.
func (t *attempt) hopeful() bool {
	select {
	case <-t.done:
		return t.err == nil && !t.process.Ended()
	default:
		return true
	}
}

// open starts the agent with its conversation; where that cannot be had any
// more, with a new one, and says so. The error is a sentence for people.
func (a *adapter) open(session string) (*process, error) {
	ctx, cancel := context.WithTimeoutCause(a.life, a.patience, fmt.Errorf("it has not answered within %v", a.patience))
	defer cancel()
	p := newProcess(a)
	err := p.begin(ctx, session)
	if session != "" && died(err) {
		a.log(event.Log{Level: "warn", Message: "the agent was restarted and could not restore the conversation: " + err.Error()}, guest.Source{})
		p = newProcess(a)
		err = p.begin(ctx, "")
	}
	if err != nil {
		return nil, fmt.Errorf("agent did not start: %w", err)
	}
	return p, nil
}

// running gives the agent that is up, or nil.
func (a *adapter) running() *process {
	a.mu.Lock()
	t := a.attempt
	a.mu.Unlock()
	if t == nil {
		return nil
	}
	select {
	case <-t.done:
		return t.process
	default:
		return nil
	}
}

// Kill is part of guest.Adapter.
func (a *adapter) Kill() {
	if p := a.running(); p != nil {
		p.Kill()
	}
}

// Close is part of guest.Adapter.
func (a *adapter) Close() {
	a.stop()
	a.work.Wait()
}

// belongs notes the conversation that the agent says it is in.
func (a *adapter) belongs(session string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.session = session
}

// log reports an entry of the running turn, or of none.
func (a *adapter) log(l event.Log, source guest.Source) {
	a.mu.Lock()
	t := a.turn
	a.mu.Unlock()
	if t != nil {
		t.sink.Log(l, source)
		return
	}
	a.services.Log(l, source)
}
