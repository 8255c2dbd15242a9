package codex

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"paddock/internal/event"
	"paddock/internal/guest"
	"paddock/internal/guest/adapter/program"
	"paddock/internal/guest/adapter/rpc"
	"paddock/internal/guestapi"
)

// The places inside the sandbox.
const (
	configDir = "/etc/codex"          // where Codex looks for what binds it
	socketDir = "/run/paddock-codex"  // root's; the agent may only go through it
	socket    = socketDir + "/socket" // where the hook and the gate ask
)

// startTimeout is how long Codex may take until it has a conversation.
const startTimeout = 2 * time.Minute

// adapter drives Codex; it implements guest.Adapter.
type adapter struct {
	agent    guestapi.Agent
	dir      string
	services guest.Services
	places   places
	keeper   *program.Keeper[*process]

	mu     sync.Mutex
	gate   *gate  // nil before the first attempt
	thread string // the conversation; "" before the first turn
	turn   *turn  // the one being played
	quiet  program.Stderr
}

// places are where the files of the adapter are; tests have their own.
type places struct {
	config string
	socket string
}

// process is one run of Codex.
type process struct {
	*rpc.Conn
	adapter *adapter

	// Set while it is brought up, before anybody else sees it.
	thread string
	model  string
}

var _ guest.NewAdapter = New

// New makes an adapter for Codex; it is a guest.NewAdapter.
func New(agent guestapi.Agent, services guest.Services) guest.Adapter {
	return newAdapter(agent, services, places{configDir, socket})
}

func newAdapter(agent guestapi.Agent, services guest.Services, at places) *adapter {
	a := &adapter{agent: agent, dir: agent.Dir, services: services, places: at}
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
func (a *adapter) Close() {
	a.keeper.Close()
	a.mu.Lock()
	g := a.gate
	a.mu.Unlock()
	if g != nil {
		g.close()
	}
}

// open starts Codex and gives it its conversation. The error is a sentence for
// people; nothing runs then.
func (a *adapter) open() (_ *process, err error) {
	a.mu.Lock()
	thread := a.thread
	a.mu.Unlock()
	ctx, cancel := context.WithTimeoutCause(a.keeper.Life(), startTimeout, fmt.Errorf("agent did not start: it has not answered within %v", startTimeout))
	defer cancel()
	if err := a.prepare(); err != nil {
		return nil, fmt.Errorf("agent did not start: %w", err)
	}
	p := &process{Conn: rpc.New(), adapter: a}
	argv := append(append([]string{}, a.agent.Argv...), "app-server")
	if err := p.Start(a.services, argv, a.dir, p); err != nil {
		return nil, fmt.Errorf("agent did not start: %w", err)
	}
	a.keeper.Mind(p)
	defer func() {
		if err != nil {
			p.Kill()
			p.Wait()
		}
	}()
	if err := p.initialize(ctx); err != nil {
		return nil, startError(err)
	}
	if err := a.openThread(ctx, p, thread); err != nil {
		return nil, startError(err)
	}
	return p, nil
}

// prepare writes the settings and opens the gate, once.
func (a *adapter) prepare() error {
	if err := configure(a.places.config, a.services.Environ(), a.agent.Tools); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.gate != nil {
		return nil
	}
	g, err := openGate(a.places.socket, a)
	if err != nil {
		return err
	}
	a.gate = g
	return nil
}

// startError says how far the agent came.
func startError(err error) error {
	var exit *program.ExitError
	var refused *rpc.Error
	if errors.As(err, &exit) || errors.As(err, &refused) {
		return fmt.Errorf("agent did not start: %w", err)
	}
	return err
}

// initialize greets Codex and makes sure that it runs our hook: one that does
// not know such hooks would leave all rules out.
func (p *process) initialize(ctx context.Context) error {
	var params initializeParams
	params.ClientInfo.Name, params.ClientInfo.Title, params.ClientInfo.Version = "paddock", "Paddock", "1"
	params.Capabilities.ExperimentalAPI = true
	var hello struct {
		UserAgent string `json:"userAgent"`
	}
	if err := p.Call(ctx, "initialize", params, &hello); err != nil {
		return err
	}
	p.Notify("initialized", struct{}{})
	var hooks hooksResult
	if err := p.Call(ctx, "hooks/list", hooksParams{Cwds: []string{p.adapter.dir}}, &hooks); err != nil {
		return fmt.Errorf("this version of codex (%s) does not say which hooks it runs: %w", version(hello.UserAgent), err)
	}
	for _, of := range hooks.Data {
		for _, h := range of.Hooks {
			if h.Event == "preToolUse" && h.Command == hookCommand && h.Enabled && h.Managed {
				return nil
			}
		}
	}
	return fmt.Errorf("this version of codex (%s) does not run the hook by which its calls come before the policy", version(hello.UserAgent))
}

// version reads Codex's version out of "client/VERSION (system)".
func version(userAgent string) string {
	_, rest, _ := strings.Cut(userAgent, "/")
	word, _, _ := strings.Cut(rest, " ")
	if word == "" {
		return "unknown"
	}
	return word
}

// openThread continues the conversation where that is possible, and otherwise
// begins a new one and says so.
func (a *adapter) openThread(ctx context.Context, p *process, thread string) error {
	params := threadParams{Cwd: a.dir, ApprovalPolicy: "on-request", ApprovalsReviewer: "user"}
	var result threadResult
	if thread != "" {
		again := params
		again.ThreadID, again.ExcludeTurns = thread, true
		err := p.Call(ctx, "thread/resume", again, &result)
		if err == nil {
			p.thread, p.model = thread, result.Model
			return nil
		}
		if p.Ended() || ctx.Err() != nil {
			return err
		}
		a.log(event.Log{Level: "warn", Message: "the agent was restarted and could not restore the conversation: " + err.Error()}, guest.Source{})
	}
	if err := p.Call(ctx, "thread/start", params, &result); err != nil {
		return err
	}
	if result.Thread.ID == "" {
		return errors.New("agent opened a conversation without an id")
	}
	p.thread, p.model = result.Thread.ID, result.Model
	return nil
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
