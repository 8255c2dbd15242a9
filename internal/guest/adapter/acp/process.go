package acp

import (
	"sync"

	"paddock/internal/event"
	"paddock/internal/guest"
	"paddock/internal/guest/adapter/rpc"
)

// process is one run of the agent's program.
type process struct {
	*rpc.Conn

	// Set while the agent is brought up, before anybody else sees it.
	session      string
	capabilities initializeResult

	counted event.Tokens // by an agent that counts on; only Turn uses it

	mu        sync.Mutex
	replaying bool // updates are the past, told again
}

// startProcess starts the agent's program; the error is a sentence for people.
func (a *adapter) startProcess() (*process, error) {
	p := &process{Conn: rpc.New()}
	if err := p.Start(a.services, a.agent.Argv, a.dir, reader{a, p}); err != nil {
		return nil, err
	}
	return p, nil
}

// reader takes what a process says; it is a program.Handler.
type reader struct {
	adapter *adapter
	process *process
}

// Line is part of program.Handler.
func (r reader) Line(line []byte) {
	f, err := rpc.Parse(line)
	if err != nil {
		r.TooLong(line, err)
		return
	}
	r.adapter.handle(r.process, f)
}

// TooLong is part of program.Handler. Some programs print to stdout what belongs
// on stderr; the agent goes on.
func (r reader) TooLong(start []byte, err error) {
	r.adapter.log(event.Log{Level: "warn", Message: "a line of the agent is no message: " + err.Error()}, guest.Source{Type: "stdout", Raw: start})
}

// Stderr is part of program.Handler.
func (r reader) Stderr(line string) { r.adapter.quiet.Log(line, r.adapter.log) }

// close kills the agent and waits for everything that belongs to it.
func (p *process) close() {
	p.Kill()
	p.Wait()
}

func (p *process) setReplaying(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.replaying = on
}

func (p *process) isReplaying() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.replaying
}
