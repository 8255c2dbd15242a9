package codex

import (
	"cmp"
	"encoding/json"
	"strings"

	"paddock/internal/event"
	"paddock/internal/guest"
	"paddock/internal/guest/adapter/rpc"
)

// Line is part of program.Handler.
func (p *process) Line(line []byte) {
	f, err := rpc.Parse(line)
	if err != nil {
		p.TooLong(line, err)
		return
	}
	p.adapter.handle(p, f)
}

// TooLong is part of program.Handler.
func (p *process) TooLong(start []byte, err error) {
	p.adapter.log(event.Log{Level: "warn", Message: "a line of the agent is no message: " + err.Error()}, guest.Source{Type: "stdout", Raw: start})
}

// Stderr is part of program.Handler.
func (p *process) Stderr(line string) { p.adapter.quiet.Log(line, p.adapter.log) }

// handle takes one frame of the agent, in the reading goroutine.
func (a *adapter) handle(p *process, f rpc.Frame) {
	switch {
	case f.Method == "" && f.HasID():
		p.Deliver(f) // nobody waits for the answer to an interrupt
	case f.HasID():
		a.request(p, f)
	case f.Method != "":
		a.notification(p, f)
	default:
		a.note("warn", "the agent sent a message that is neither question nor answer", f)
	}
}

// notification takes what the agent tells. What it tells of other conversations
// and of turns that are over is no part of the turn.
func (a *adapter) notification(p *process, f rpc.Frame) {
	var n notice
	if err := json.Unmarshal(f.Params, &n); err != nil {
		a.note("debug", "the agent sent "+f.Method+", which cannot be read: "+err.Error(), f)
		return
	}
	t := a.turnOf(p)
	if t != nil && f.Method == "serverRequest/resolved" {
		t.say.resolved()
	}
	if t == nil || n.ThreadID != p.thread || !t.owns(f.Method, &n) {
		a.stray(f, n)
		return
	}
	if f.Method == "turn/completed" {
		t.finished(n.Turn, f)
		return
	}
	if !t.say.notice(f.Method, &n, f.Raw) {
		a.stray(f, n)
		return
	}
	t.sink.Alive(guest.Source{Type: f.Method})
}

// stray logs what has no event of its own.
func (a *adapter) stray(f rpc.Frame, n notice) {
	switch f.Method {
	case "warning", "guardianWarning", "deprecationNotice":
		a.note("warn", "codex warns: "+cmp.Or(n.Message, n.Summary), f)
	case "configWarning":
		a.note("debug", "codex warns: "+cmp.Or(n.Summary, n.Message), f)
	case "thread/status/changed", "account/rateLimits/updated", "thread/readState/changed", "serverRequest/resolved":
		// the same is told otherwise, or of no use here
	default:
		a.note("debug", "the agent sent "+f.Method, f)
	}
}

// turnOf gives the running turn if p plays it.
func (a *adapter) turnOf(p *process) *turn {
	if t := a.current(); t != nil && t.Plays(p) {
		return t
	}
	return nil
}

// note logs a frame that has no event of its own.
func (a *adapter) note(level, message string, f rpc.Frame) {
	a.log(event.Log{Level: level, Message: strings.ToValidUTF8(message, "\uFFFD")}, guest.Source{Type: f.Method, Raw: f.Raw})
}
