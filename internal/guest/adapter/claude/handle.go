package claude

import (
	"fmt"
	"net/http"
	"strings"

	"paddock/internal/event"
	"paddock/internal/guest"
)

// handle takes one frame of the agent, in the reading goroutine.
func (a *adapter) handle(p *process, f frame) {
	t := a.turnOf(p)
	switch f.Type {
	case "control_response":
		p.answered(f) // our own answers come back, too
	case "control_request":
		a.request(p, t, f)
	case "control_cancel_request":
		if t != nil && t.forget(f.RequestID) {
			a.note("info", "the agent no longer waits for an answer", f)
		}
	case "result":
		a.result(p, t, f)
	case "system":
		a.system(t, f)
	case "stream_event", "assistant", "user":
		if t == nil {
			p.strays = p.strays || f.startsMessage()
		}
		if t == nil || !t.say.take(f) {
			a.note("debug", "the agent sent "+f.kind()+" outside of a turn", f)
		}
	case "keep_alive", "tool_progress":
		if t != nil {
			t.sink.Alive(guest.Source{Type: f.kind()})
		}
	default:
		a.note("debug", "the agent sent "+f.kind(), f)
	}
}

// turnOf gives the running turn if p plays it.
func (a *adapter) turnOf(p *process) *turn {
	t := a.current()
	if t == nil {
		return nil
	}
	t.Lock()
	defer t.Unlock()
	if t.Process != p || t.Over {
		return nil
	}
	return t
}

// result ends the turn, unless it is of one that the agent had begun by itself.
func (a *adapter) result(p *process, t *turn, f frame) {
	if f.SessionID != "" {
		a.belongs(f.SessionID)
	}
	source := guest.Source{Type: f.kind(), Raw: f.raw}
	strayed := p.strays
	p.strays = false
	if t == nil || strayed && !t.isBegun() {
		a.note("debug", "the agent ended a turn that nobody asked for", f)
		return
	}
	t.say.close() // what follows is no part of the turn
	new, cost := p.spent.since(f.result)
	select {
	case t.ended <- end{f.result, source, new, cost}:
	default: // it has ended already
	}
}

// maxRefusals is how often the model's server may say that it does not know us
// before the turn is given up: the agent would go on for minutes.
const maxRefusals = 2

func (a *adapter) system(t *turn, f frame) {
	switch f.Subtype {
	case "init":
		a.belongs(f.SessionID)
		for _, s := range f.Servers {
			if s.Status == "failed" || s.Status == "needs-auth" {
				a.note("warn", fmt.Sprintf("the agent could not reach tool %s: %s", s.Name, s.Status), frame{Type: f.Type, Subtype: f.Subtype})
			}
		}
	case "status": // it asks its model
		if t != nil {
			t.insist()
		}
	case "thinking_tokens":
	case "api_retry":
		why := "no answer"
		if f.ErrorStatus != nil {
			why = fmt.Sprintf("%d %s", *f.ErrorStatus, http.StatusText(*f.ErrorStatus))
		}
		a.log(event.Log{
			Level:   "warn",
			Message: fmt.Sprintf("the model did not answer (%s); the agent tries again, %d of %d", strings.TrimSpace(why), f.Attempt, f.MaxRetries),
			Fields:  map[string]any{"reason": "model_retry", "attempt": f.Attempt, "max_retries": f.MaxRetries, "delay_ms": f.DelayMS, "status": f.ErrorStatus, "error": f.Error},
		}, guest.Source{Type: f.kind(), Raw: f.raw})
		if s := f.ErrorStatus; t != nil && s != nil && (*s == http.StatusUnauthorized || *s == http.StatusForbidden) && f.Attempt >= maxRefusals {
			t.giveUp(fmt.Sprintf("the model's server refuses the key: %s (%s)", why, f.Error))
		}
		return
	default:
		a.note("debug", "the agent sent "+f.kind(), f)
		return
	}
	if t != nil {
		t.sink.Alive(guest.Source{Type: f.kind()})
	}
}

// note logs a frame that has no event of its own.
func (a *adapter) note(level, message string, f frame) {
	a.log(event.Log{Level: level, Message: strings.ToValidUTF8(message, "\uFFFD")}, guest.Source{Type: f.kind(), Raw: f.raw})
}
