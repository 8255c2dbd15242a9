package claude

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"paddock/internal/event"
	"paddock/internal/guest"
	"paddock/internal/guest/adapter/program"
)

// hookTimeout is how many seconds the agent waits for a decision: longer than
// any approval, for a hook that is late counts as one that agrees. A timer of
// JavaScript takes no more than 2^31 ms.
const hookTimeout = 2_000_000

// process is one run of the agent's program; it is a program.Handler.
type process struct {
	*program.Program
	adapter *adapter
	spent   spent // only the reading goroutine uses it, and
	strays  bool  // the model speaks though no turn was given

	mu      sync.Mutex
	next    int
	waiting map[string]chan reply // what the agent was asked
}

// reply is the agent's answer to what it was asked.
type reply struct {
	Subtype   string `json:"subtype"`
	RequestID string `json:"request_id"`
	Error     string `json:"error"`
}

func newProcess(a *adapter) *process {
	return &process{Program: program.New(), adapter: a, waiting: map[string]chan reply{}}
}

// begin starts the program and waits until it has taken our hook. The error is
// a sentence for people; then nothing runs.
func (p *process) begin(ctx context.Context, session string) error {
	a := p.adapter
	if err := p.Start(a.services, argv(a.agent, a.dir, session), a.dir, p); err != nil {
		return err
	}
	a.keeper.Mind(p)
	hooks := map[string][]hookOn{"PreToolUse": {{Matcher: "*", IDs: []string{"policy"}, Timeout: hookTimeout}}}
	if err := p.ask(ctx, initialize{Subtype: "initialize", Hooks: hooks}); err != nil {
		p.Kill()
		p.Wait()
		return err
	}
	return nil
}

// send gives the agent a request; its answer comes to the channel.
func (p *process) send(request any) (id string, answer chan reply) {
	p.mu.Lock()
	p.next++
	id, answer = "paddock-"+strconv.Itoa(p.next), make(chan reply, 1)
	p.waiting[id] = answer
	p.mu.Unlock()
	p.Send(line(controlRequest{Type: "control_request", RequestID: id, Request: request}))
	return id, answer
}

// ask gives the agent a request and waits for its answer.
func (p *process) ask(ctx context.Context, request any) error {
	id, answer := p.send(request)
	select {
	case r := <-answer:
		return r.err()
	case <-p.Gone():
		return p.Err()
	case <-ctx.Done():
		p.mu.Lock()
		delete(p.waiting, id)
		p.mu.Unlock()
		return context.Cause(ctx)
	}
}

func (r reply) err() error {
	if r.Subtype == "success" {
		return nil
	}
	return fmt.Errorf("agent refused what it was asked: %s", r.Error)
}

// interrupt asks the agent to end its turn, and waits for nothing.
func (p *process) interrupt() { p.send(interrupt{Subtype: "interrupt"}) }

// answered takes an answer of the agent. One that nobody waits for is dropped.
func (p *process) answered(f frame) {
	var r reply
	if !decode(f.Response, &r) {
		return
	}
	p.mu.Lock()
	answer := p.waiting[r.RequestID]
	delete(p.waiting, r.RequestID)
	p.mu.Unlock()
	if answer != nil {
		answer <- r
	}
}

// respond answers what the agent has asked.
func (p *process) respond(id string, result any) {
	p.Send(line(controlResponse{Type: "control_response", Response: response{Subtype: "success", RequestID: id, Response: result}}))
}

func (p *process) refuse(id, why string) {
	p.Send(line(controlResponse{Type: "control_response", Response: response{Subtype: "error", RequestID: id, Error: why}}))
}

// Line is part of program.Handler.
func (p *process) Line(line []byte) {
	f, err := parse(line)
	if err != nil {
		p.TooLong(line, err)
		return
	}
	p.adapter.handle(p, f)
}

// TooLong is part of program.Handler. What belongs on stderr may come here; the
// agent goes on.
func (p *process) TooLong(start []byte, err error) {
	p.adapter.log(event.Log{Level: "warn", Message: "a line of the agent is no message: " + err.Error()}, guest.Source{Type: "stdout", Raw: start})
}

// Stderr is part of program.Handler.
func (p *process) Stderr(line string) { p.adapter.quiet.Log(line, p.adapter.log) }

// died says whether the agent ended by itself.
func died(err error) bool {
	var exit *program.ExitError
	return errors.As(err, &exit)
}
