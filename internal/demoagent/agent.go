// Package demoagent is a small coding agent without a model: one prompt is one
// command, so that everything an agent does can be seen, tried and tested
// without a key or a network. It speaks the Agent Client Protocol, version 1.
//
//	run CMD          asks, runs CMD with /bin/sh, streams its output
//	together CMD ; CMD
//	                 asks for all of them at once, then runs those that may run
//	write PATH TEXT  asks, writes TEXT and a newline to PATH
//	read PATH        says what is in PATH
//	think TEXT       thinks TEXT
//	slow N           says 1 to N, one number each 200 ms
//	stubborn N       does the same, and does not heed a cancel
//	ask QUESTION     asks the person and says the answer
//	fail TEXT        ends the turn with the error TEXT
//	model-error TEXT, model-timeout TEXT
//	                 end the turn as an agent does whose model failed it
//	crash            exits with code 3
//
// Anything else is answered with "turn K: …", K counting the turns of the
// conversation. A turn is written to disk before it does anything, so the
// count and the past survive a kill at any point.
package demoagent

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
)

// agent serves one client.
type agent struct {
	*peer
	exit  func(code int)
	store store
	ctx   context.Context // ends with the client
	work  sync.WaitGroup

	mu       sync.Mutex
	forms    bool // the client can show a form
	sessions map[string]*session
}

// session is one conversation.
type session struct {
	id     string
	cwd    string
	cancel context.CancelFunc // of the running prompt; nil between prompts
	past   []turn
}

// Run serves a client on in and out until in ends. Conversations are kept in
// the folder dir. What a crash command does is exit(3).
func Run(in io.Reader, out io.Writer, dir string, exit func(code int)) error {
	ctx, stop := context.WithCancel(context.Background())
	a := &agent{peer: newPeer(out), exit: exit, store: store{dir}, ctx: ctx, sessions: map[string]*session{}}
	err := a.read(in, a.serve)
	stop()
	a.work.Wait()
	return err
}

// serve answers one request or notification. Prompts run beside the reading, so
// that cancels and answers come through; they begin here, so that a cancel which
// follows at once finds its prompt.
func (a *agent) serve(m message) {
	if m.Method != "session/prompt" {
		result, err := a.handle(m)
		a.answer(m, result, err)
		return
	}
	run, err := a.begin(m)
	if err != nil {
		a.answer(m, nil, err)
		return
	}
	a.work.Go(func() {
		result, err := run()
		a.answer(m, result, err)
	})
}

// params are those of every method that we serve.
type params struct {
	SessionID string                                   `json:"sessionId"`
	Cwd       string                                   `json:"cwd"`
	Prompt    []struct{ Text string }                  `json:"prompt"`
	Client    struct{ Elicitation struct{ Form any } } `json:"clientCapabilities"`
}

func (m message) params() (params, error) {
	var p params
	if err := json.Unmarshal(m.Params, &p); err != nil {
		return p, &rpcError{Code: -32602, Message: "invalid params: " + err.Error()}
	}
	return p, nil
}

func (a *agent) handle(m message) (any, error) {
	p, err := m.params()
	if err != nil {
		return nil, err
	}
	switch m.Method {
	case "initialize":
		a.mu.Lock()
		a.forms = p.Client.Elicitation.Form != nil
		a.mu.Unlock()
		return object{
			"protocolVersion": 1,
			"agentInfo":       object{"name": "paddock-demo-agent", "title": "Demo agent", "version": "1"},
			"authMethods":     []any{},
			"agentCapabilities": object{
				"loadSession": true, "promptCapabilities": object{}, "sessionCapabilities": object{"resume": object{}},
			},
		}, nil
	case "session/new":
		return a.newSession(p)
	case "session/load", "session/resume":
		return a.openSession(p, m.Method == "session/load")
	case "session/cancel":
		a.mu.Lock()
		defer a.mu.Unlock()
		if s := a.sessions[p.SessionID]; s != nil && s.cancel != nil {
			s.cancel()
		}
		return object{}, nil
	}
	return nil, &rpcError{Code: -32601, Message: "Method not found: " + m.Method}
}

func (a *agent) newSession(p params) (any, error) {
	id, err := a.store.create()
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sessions[id] = &session{id: id, cwd: p.Cwd}
	return object{"sessionId": id}, nil
}

// openSession goes on with a conversation, and tells its past when asked to.
func (a *agent) openSession(p params, tell bool) (any, error) {
	past, err := a.store.load(p.SessionID)
	if err != nil {
		return nil, &rpcError{Code: -32002, Message: "session not found: " + p.SessionID}
	}
	a.mu.Lock()
	a.sessions[p.SessionID] = &session{id: p.SessionID, cwd: p.Cwd, past: past}
	a.mu.Unlock()
	if tell {
		for _, t := range past {
			a.update(p.SessionID, object{"sessionUpdate": "user_message_chunk", "content": text(t.User)})
			if t.Agent != "" {
				a.update(p.SessionID, object{"sessionUpdate": "agent_message_chunk", "content": text(t.Agent)})
			}
		}
	}
	return object{}, nil
}

// begin reserves the prompt's session, so that the turn may be cancelled from
// then on, and gives what plays it.
func (a *agent) begin(m message) (run func() (any, error), err error) {
	p, err := m.params()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(a.ctx)
	s, err := a.take(p.SessionID, cancel)
	if err != nil {
		cancel()
		return nil, err
	}
	var parts []string
	for _, b := range p.Prompt {
		parts = append(parts, b.Text)
	}
	return func() (any, error) {
		defer cancel()
		defer func() {
			a.mu.Lock()
			s.cancel = nil
			a.mu.Unlock()
		}()
		return a.play(ctx, s, strings.TrimSpace(strings.Join(parts, "\n")))
	}, nil
}

// take reserves a session for one prompt.
func (a *agent) take(id string, cancel context.CancelFunc) (*session, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.sessions[id]
	switch {
	case s == nil:
		return nil, &rpcError{Code: -32002, Message: "session not found: " + id}
	case s.cancel != nil:
		return nil, &rpcError{Code: -32600, Message: "a prompt is already running in this session"}
	}
	s.cancel = cancel
	return s, nil
}

// play journals the turn, does what it says, and journals what was said.
func (a *agent) play(ctx context.Context, s *session, input string) (any, error) {
	s.past = append(s.past, turn{User: input})
	if err := a.store.save(s.id, half{User: &input}); err != nil {
		return nil, err
	}
	v := &voice{agent: a, ctx: ctx, session: s}
	err := v.obey(input)
	said := v.said.String()
	s.past[len(s.past)-1].Agent = said
	if e := a.store.save(s.id, half{Agent: &said}); e != nil && err == nil {
		err = e
	}
	stop := "end_turn"
	if !v.stubborn && ctx.Err() != nil || errors.Is(err, context.Canceled) {
		stop, err = "cancelled", nil
	}
	if err != nil {
		return nil, err
	}
	read := 0
	for _, t := range s.past {
		read += len(t.User) + len(t.Agent)
	}
	// About four bytes make a token.
	in, out := (read-len(said)+3)/4, (len(said)+3)/4
	return object{"stopReason": stop, "usage": object{"inputTokens": in, "outputTokens": out, "totalTokens": in + out}}, nil
}
