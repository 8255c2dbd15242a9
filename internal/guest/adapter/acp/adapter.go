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
	patience time.Duration   // startTimeout
	life     context.Context // ends with Close
	stop     context.CancelFunc
	work     sync.WaitGroup

	mu      sync.Mutex
	attempt *attempt // the newest; nil before the first
	session string   // the agent's own id of the conversation; "" before the first
	turn    *turn    // the one being played
	bill    bill     // of the conversation so far
	quiet   program.Stderr
}

// attempt is one try to bring the agent up.
type attempt struct {
	done    chan struct{}
	process *process // valid once done is closed, nil with err
	err     error
}

var _ guest.NewAdapter = New

// New makes an adapter for an ACP agent; it is a guest.NewAdapter.
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
	if err := a.life.Err(); err != nil {
		t.err = errors.New("the machine is shutting down")
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
	default:
		return true
	}
	if t.err != nil {
		return false
	}
	return !t.process.Ended()
}

// open starts the agent and gives it its conversation. The error is a sentence
// for people; nothing runs then.
func (a *adapter) open(session string) (_ *process, err error) {
	ctx, cancel := context.WithTimeoutCause(a.life, a.patience, fmt.Errorf("agent did not start: it has not answered within %v", a.patience))
	defer cancel()
	p, err := a.startProcess()
	if err != nil {
		return nil, fmt.Errorf("agent did not start: %w", err)
	}
	a.work.Go(func() {
		select {
		case <-a.life.Done():
			p.Kill()
		case <-p.Gone():
		}
		p.Wait()
	})
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
		if p.ended() || ctx.Err() != nil {
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

func (p *process) ended() bool {
	select {
	case <-p.Gone():
		return true
	default:
		return false
	}
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
