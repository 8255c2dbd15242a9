package claude

import (
	"cmp"
	"encoding/json"
	"time"

	"paddock/internal/event"
	"paddock/internal/guest"
	"paddock/internal/guestapi"
)

// ask is a request of the agent that waits for an answer.
type ask struct {
	id     string                    // of the request
	call   string                    // the tool call that it is about
	answer func(guestapi.Answer) any // the answer in the agent's words
}

// request takes what the agent asks us.
func (a *adapter) request(p *process, t *turn, f frame) {
	var c control
	_ = json.Unmarshal(f.Request, &c) // what is missing is refused below
	switch c.Subtype {
	case "hook_callback":
		a.hook(p, t, c, f)
	case "can_use_tool":
		a.permission(p, t, c, f)
	case "elicitation":
		a.elicitation(p, t, c, f)
	default:
		p.refuse(f.RequestID, "not offered: "+c.Subtype)
		a.note("debug", "the agent asked for "+c.Subtype+", which is not offered", f)
	}
}

// hook has a tool call decided before it runs.
func (a *adapter) hook(p *process, t *turn, c control, f frame) {
	var in hookInput
	if !decode(c.Input, &in) || in.ToolUseID == "" || in.ToolName == "" {
		p.respond(f.RequestID, hookAnswer(guestapi.Answer{Decision: guestapi.Deny, Reason: "the call cannot be read"}))
		return
	}
	if in.ToolName == question { // asks by can_use_tool what it wants to know
		p.respond(f.RequestID, hookAnswer(guestapi.Answer{Decision: guestapi.Allow}))
		return
	}
	a.decide(p, t, ask{id: f.RequestID, call: in.ToolUseID, answer: hookAnswer}, in.ToolName, in.ToolInput, f)
}

func hookAnswer(answer guestapi.Answer) any {
	var out hookOutput
	out.Specific.Event, out.Specific.Decision = "PreToolUse", "deny"
	switch answer.Decision {
	case guestapi.Allow:
		out.Specific.Decision, out.Specific.Input = "allow", answer.Input
	default:
		out.Specific.Reason = reason(answer)
	}
	return out
}

// permission answers the agent's own question whether a call may run. Where the
// hook has let the call pass, that was decided.
func (a *adapter) permission(p *process, t *turn, c control, f frame) {
	if c.ToolName == question {
		a.question(p, t, c, f)
		return
	}
	answer := func(answer guestapi.Answer) any { return permissionAnswer(c.Input, answer) }
	if t != nil {
		if _, allowed := t.allowedAt(c.ToolUseID); allowed {
			p.respond(f.RequestID, answer(guestapi.Answer{Decision: guestapi.Allow}))
			return
		}
	}
	a.decide(p, t, ask{id: f.RequestID, call: c.ToolUseID, answer: answer}, c.ToolName, c.Input, f)
}

func permissionAnswer(input json.RawMessage, answer guestapi.Answer) any {
	if answer.Decision != guestapi.Allow {
		return permission{Behavior: "deny", Message: reason(answer)}
	}
	if len(answer.Input) > 0 {
		input = answer.Input
	}
	if len(input) == 0 {
		input = json.RawMessage(`{}`)
	}
	return permission{Behavior: "allow", Input: input}
}

// reason is what the model is told of a no.
func reason(answer guestapi.Answer) string {
	switch {
	case answer.Decision == guestapi.Cancel:
		return "nobody will decide: the turn is being ended"
	case answer.Reason == "":
		return "a person rejected this call"
	}
	return answer.Reason
}

// decide asks for a decision on a tool call.
func (a *adapter) decide(p *process, t *turn, q ask, name string, input json.RawMessage, f frame) {
	source := guest.Source{Type: f.kind(), Raw: f.raw}
	if t == nil || !t.say.asked(q.call, name, input, source) {
		p.respond(q.id, q.answer(guestapi.Answer{Decision: guestapi.Deny, Reason: "no turn is running, and between turns no tool may be used"}))
		return
	}
	tool := tool{name: name, input: input}
	action, details := tool.describe(a.dir)
	t.raise(p, q, guestapi.Ask{ToolCallID: q.call, Action: action, Details: details, Payload: f.Request}, source)
}

// raise reports an ask, unless nobody will answer it.
func (t *turn) raise(p *process, q ask, asked guestapi.Ask, source guest.Source) {
	asked.Key = t.sink.NewKey()
	t.Lock()
	open := t.Open()
	if open {
		t.asks[asked.Key] = q
	}
	t.Unlock()
	if !open {
		p.respond(q.id, q.answer(guestapi.Answer{Decision: guestapi.Cancel}))
		return
	}
	t.sink.Ask(asked, source)
}

// elicitation has a person fill in the form of an MCP server. One that sends
// them to an address is told no.
func (a *adapter) elicitation(p *process, t *turn, c control, f frame) {
	q := ask{id: f.RequestID, answer: elicitationAnswer}
	if t == nil || c.Mode != "" && c.Mode != "form" {
		p.respond(f.RequestID, q.answer(guestapi.Answer{Decision: guestapi.Deny}))
		return
	}
	t.raise(p, q, guestapi.Ask{
		Action: event.ActionUnspecified, Payload: f.Request,
		Details: event.AskDetails{Tool: "question", Question: cmp.Or(c.Message, "A tool asks for what follows."), Schema: c.Schema},
	}, guest.Source{Type: f.kind(), Raw: f.raw})
}

func elicitationAnswer(answer guestapi.Answer) any {
	switch answer.Decision {
	case guestapi.Allow:
		if answer.Content == nil {
			answer.Content = map[string]any{}
		}
		return elicited{Action: "accept", Content: answer.Content}
	case guestapi.Deny:
		return elicited{Action: "decline"}
	}
	return elicited{Action: "cancel"}
}

// Answer is part of guest.Adapter.
func (a *adapter) Answer(key string, answer guestapi.Answer) {
	t := a.current()
	if t == nil {
		return
	}
	t.Lock()
	q, waits := t.asks[key]
	delete(t.asks, key)
	p := t.Process
	if waits && answer.Decision == guestapi.Allow && q.call != "" {
		t.allowed[q.call] = time.Now()
	}
	t.Unlock()
	if waits {
		p.respond(q.id, q.answer(answer))
	}
}

// allowedAt says whether a call may run, and since when.
func (t *turn) allowedAt(call string) (time.Time, bool) {
	t.Lock()
	defer t.Unlock()
	at, ok := t.allowed[call]
	return at, ok
}

// forget drops a request that the agent no longer waits for.
func (t *turn) forget(request string) bool {
	t.Lock()
	defer t.Unlock()
	for key, q := range t.asks {
		if q.id == request {
			delete(t.asks, key)
			return true
		}
	}
	return false
}

// withdraw answers every open ask with cancel: nobody will decide.
func (t *turn) withdraw() {
	t.Lock()
	open, p := t.asks, t.Process
	t.asks = map[string]ask{}
	t.Unlock()
	for _, q := range open {
		p.respond(q.id, q.answer(guestapi.Answer{Decision: guestapi.Cancel}))
	}
}
