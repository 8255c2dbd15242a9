package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"paddock/internal/event"
	"paddock/internal/guest"
	"paddock/internal/guest/adapter/program"
	"paddock/internal/guestapi"
)

// startTimeout is how long an agent may take until it has a session. The
// slowest known takes 13 s in a sandbox.
const startTimeout = 2 * time.Minute

// adapter drives one agent; it implements guest.Adapter.
type adapter struct {
	agent    guestapi.Agent
	dir      string
	services guest.Services
	patience time.Duration // startTimeout
	keeper   *program.Keeper[*process]

	mu      sync.Mutex
	session string // the agent's own id of the conversation; "" before the first
	turn    *turn  // the one being played
	bill    bill   // of the conversation so far
	quiet   program.Stderr
}

var _ guest.NewAdapter = New

// New makes an adapter for an ACP agent; it is a guest.NewAdapter.
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

// open starts the agent and gives it its conversation. The error is a sentence
// for people; nothing runs then.
func (a *adapter) open() (_ *process, err error) {
	a.mu.Lock()
	session := a.session
	a.mu.Unlock()
	ctx, cancel := context.WithTimeoutCause(a.keeper.Life(), a.patience, fmt.Errorf("agent did not start: it has not answered within %v", a.patience))
	defer cancel()
	p, err := a.startProcess()
	if err != nil {
		return nil, fmt.Errorf("agent did not start: %w", err)
	}
	a.keeper.Mind(p)
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	if err := p.initialize(ctx); err != nil {
		return nil, startError(err)
	}
	if err := p.authenticate(ctx, a.agent.Auth); err != nil {
		return nil, startError(err)
	}
	if p.session, err = a.openSession(ctx, p, session); err != nil {
		return nil, startError(err)
	}
	a.mu.Lock()
	a.session = p.session
	a.mu.Unlock()
	return p, nil
}

// startError says how far the agent came. An error of the agent keeps its place
// in the chain: it may be one of the model.
func startError(err error) error {
	var exit *program.ExitError
	if errors.As(err, &exit) {
		return fmt.Errorf("agent did not start: %w", err)
	}
	return err
}

func (p *process) initialize(ctx context.Context) error {
	params := initializeParams{ProtocolVersion: protocolVersion, Info: clientInfo{Name: "paddock", Title: "Paddock", Version: "1"}}
	if err := p.Call(ctx, "initialize", params, &p.capabilities); err != nil {
		return err
	}
	if v := p.capabilities.ProtocolVersion; v != protocolVersion {
		return fmt.Errorf("agent speaks version %d of the Agent Client Protocol; Paddock speaks %d", v, protocolVersion)
	}
	return nil
}

// authenticate tells the agent the way to log in, where it offers that.
func (p *process) authenticate(ctx context.Context, method string) error {
	if !slices.ContainsFunc(p.capabilities.AuthMethods, func(m authMethod) bool { return m.ID == method }) {
		return nil
	}
	return p.Call(ctx, "authenticate", authenticateParams{method}, nil)
}

// setMode puts the session into the mode in which the agent asks. Another one,
// which may let more pass, is not gone on in.
func (p *process) setMode(ctx context.Context, session, mode string, now sessionResult) error {
	if mode == "" || mode == now.Modes.Current {
		return nil
	}
	if err := p.Call(ctx, "session/set_mode", modeParams{session, mode}, nil); err != nil {
		return fmt.Errorf("agent cannot be put into mode %s: %w", mode, err)
	}
	return nil
}

// openSession continues the conversation where the agent can, and otherwise
// begins a new one and says so.
func (a *adapter) openSession(ctx context.Context, p *process, session string) (string, error) {
	params := sessionParams{SessionID: session, Cwd: a.dir, MCPServers: a.servers(p)}
	var result sessionResult
	if session != "" {
		err := p.reopen(ctx, params, &result)
		if err == nil {
			return session, p.setMode(ctx, session, a.agent.Mode, result)
		}
		if p.Ended() || ctx.Err() != nil {
			return "", err
		}
		a.log(event.Log{Level: "warn", Message: "the agent was restarted and could not restore the conversation: " + err.Error()}, guest.Source{})
		params.SessionID, result = "", sessionResult{}
	}
	if err := p.Call(ctx, "session/new", params, &result); err != nil {
		return "", err
	}
	if result.SessionID == "" {
		return "", errors.New("agent opened a session without an id")
	}
	return result.SessionID, p.setMode(ctx, result.SessionID, a.agent.Mode, result)
}

// reopen continues a conversation: resume does only that, load also tells the
// whole past again, which is not news. Agents do not agree on what an unknown id
// gives, so any error means that it cannot be continued this way.
func (p *process) reopen(ctx context.Context, params sessionParams, result *sessionResult) error {
	err := errors.New("the agent keeps no conversations")
	if p.capabilities.Capabilities.Session.Resume != nil {
		if err = p.Call(ctx, "session/resume", params, result); err == nil {
			return nil
		}
	}
	if p.capabilities.Capabilities.LoadSession {
		p.setReplaying(true)
		err = p.Call(ctx, "session/load", params, result)
		p.setReplaying(false)
	}
	return err
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

// asObject decodes a JSON object, or gives nil for anything else.
func asObject(raw json.RawMessage) map[string]json.RawMessage {
	var o map[string]json.RawMessage
	if json.Unmarshal(raw, &o) != nil {
		return nil
	}
	return o
}

// asString decodes a JSON string, or gives "".
func asString(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}
