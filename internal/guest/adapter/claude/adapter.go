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
	patience time.Duration // startTimeout
	keeper   *program.Keeper[*process]
	quiet    program.Stderr

	mu      sync.Mutex
	session string // the agent's own id of the conversation; "" before the first turn
	turn    *turn  // the one being played
	total   int64  // that the conversation cost, in micro-dollars
}

var _ guest.NewAdapter = New

// New makes an adapter for Claude Code; it is a guest.NewAdapter.
func New(agent guestapi.Agent, services guest.Services) guest.Adapter {
	a := &adapter{agent: agent, dir: agent.Dir, services: services, patience: startTimeout}
	a.keeper = program.NewKeeper(a.open)
	if a.dir == "" {
		a.dir = guestapi.Workspace
	}
	return a
}

// Start is part of guest.Adapter.
func (a *adapter) Start() { a.keeper.BringUp() }

// Kill is part of guest.Adapter.
func (a *adapter) Kill() { a.keeper.Kill() }

// Close is part of guest.Adapter.
func (a *adapter) Close() { a.keeper.Close() }

// open starts the agent with its conversation; where that cannot be had any
// more, with a new one, and says so. The error is a sentence for people.
func (a *adapter) open() (*process, error) {
	a.mu.Lock()
	session := a.session
	a.mu.Unlock()
	ctx, cancel := context.WithTimeoutCause(a.keeper.Life(), a.patience, fmt.Errorf("it has not answered within %v", a.patience))
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

// belongs notes the conversation that the agent says it is in.
func (a *adapter) belongs(session string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.session = session
}

// current gives the turn that is being played, or nil.
func (a *adapter) current() *turn {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.turn
}

// log reports an entry of the running turn, or of none.
func (a *adapter) log(l event.Log, source guest.Source) {
	if t := a.current(); t != nil {
		t.sink.Log(l, source)
		return
	}
	a.services.Log(l, source)
}
