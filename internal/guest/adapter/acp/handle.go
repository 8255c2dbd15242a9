package acp

import (
	"encoding/json"
	"strings"

	"paddock/internal/event"
	"paddock/internal/guest"
	"paddock/internal/guest/adapter/rpc"
)

// handle takes one frame of the agent, in the reading goroutine.
func (a *adapter) handle(p *process, f rpc.Frame) {
	switch {
	case f.Method == "" && f.HasID():
		if t := a.turnOf(p); t != nil && t.isAnswer(f) {
			t.say.close() // what follows is no part of the turn
		}
		if !p.Deliver(f) {
			a.note("debug", "the agent answered a question that was not asked", f)
		}
	case f.HasID():
		a.request(p, f)
	case f.Method == "session/update":
		a.sessionUpdate(p, f)
	case f.Method != "":
		a.note("debug", "the agent sent "+f.Method, f)
	default:
		a.note("warn", "the agent sent a message that is neither question nor answer", f)
	}
}

func (a *adapter) request(p *process, f rpc.Frame) {
	switch f.Method {
	case "session/request_permission":
		a.permission(p, a.turnOf(p), f)
	case "elicitation/create":
		a.elicitation(p, a.turnOf(p), f)
	default: // file and terminal methods too: we declared none
		p.Refuse(f.ID, rpc.MethodNotFound, "Method not found: "+f.Method)
		a.note("debug", "the agent asked for "+f.Method+", which is not offered", f)
	}
}

// turnOf gives the running turn if p plays it.
func (a *adapter) turnOf(p *process) *turn {
	if t := a.current(); t != nil && t.Plays(p) {
		return t
	}
	return nil
}

func (a *adapter) sessionUpdate(p *process, f rpc.Frame) {
	if p.isReplaying() {
		return
	}
	var params updateParams
	if err := json.Unmarshal(f.Params, &params); err != nil {
		a.note("warn", "an update of the agent cannot be read: "+err.Error(), f)
		return
	}
	u := params.Update
	if t := a.turnOf(p); t != nil && t.say.update(u, f.Raw) {
		t.sink.Alive(guest.Source{Type: u.Kind})
		return
	}
	if u.Kind == "user_message_chunk" {
		return // of a past that is told late
	}
	f.Method = u.Kind
	a.note("debug", "the agent sent "+u.Kind, f)
}

// note logs a frame that has no event of its own.
func (a *adapter) note(level, message string, f rpc.Frame) {
	a.log(event.Log{Level: level, Message: strings.ToValidUTF8(message, "\uFFFD")}, guest.Source{Type: f.Method, Raw: f.Raw})
}
