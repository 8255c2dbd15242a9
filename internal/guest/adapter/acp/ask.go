package acp

import (
	"encoding/json"
	"slices"

	"paddock/internal/event"
	"paddock/internal/guest"
	"paddock/internal/guest/adapter/named"
	"paddock/internal/guest/adapter/rpc"
	"paddock/internal/guestapi"
)

// ask is a request of the agent that waits for a person.
type ask struct {
	id       json.RawMessage // of the request
	options  []permissionOption
	question bool
	editable bool // the agent takes another input with the permission
}

// open registers an ask before it is reported; false when nobody will answer,
// since the turn is over or being cancelled.
func (t *turn) open(key string, q ask) bool {
	t.Lock()
	defer t.Unlock()
	if !t.Open() {
		return false
	}
	t.asks[key] = q
	return true
}

// permission translates session/request_permission.
func (a *adapter) permission(p *process, t *turn, f rpc.Frame) {
	var params permissionParams
	if err := json.Unmarshal(f.Params, &params); err != nil {
		p.Refuse(f.ID, rpc.InvalidParams, "invalid params: "+err.Error())
		return
	}
	q := ask{id: f.ID, options: params.Options, editable: params.Meta.Paddock.Editable}
	if t == nil || params.ToolCall.ToolCallID == "" {
		p.settle(q, guestapi.Answer{Decision: guestapi.Cancel})
		return
	}
	source := guest.Source{Type: f.Method, Raw: f.Raw}
	tool := t.say.asked(params.ToolCall, source)
	key := t.sink.NewKey()
	if !t.open(key, q) {
		p.settle(q, guestapi.Answer{Decision: guestapi.Cancel})
		return
	}
	action, details := describe(tool, a.dir)
	details.Editable = q.editable
	if name := a.serverTool(tool); name != "" {
		details.Tool = name
	}
	t.sink.Ask(guestapi.Ask{Key: key, ToolCallID: tool.id, Action: action, Details: details, Payload: f.Params}, source)
}

// describe says what a tool call wants to do, in the words of the public
// protocol where it has any.
func describe(t *tool, workspace string) (event.Action, event.AskDetails) {
	d := event.AskDetails{Tool: t.called, Title: t.title, Kind: t.kind, Input: t.input}
	switch t.kind {
	case "execute":
		d.Command, d.Guessed = t.command()
		return event.ActionBash, d
	case "fetch":
		d.URL = t.address()
		return event.ActionUnspecified, d
	}
	d.Paths = named.Files(workspace, t.files())
	switch t.kind {
	case "edit", "delete", "move":
		d.Path = t.path()
		if slices.ContainsFunc(d.Paths, func(name string) bool { return !named.Below(workspace, name) }) {
			return event.ActionWriteOutside, d
		}
	default:
		d.Path = t.path()
	}
	return event.ActionUnspecified, d
}

// elicitation translates elicitation/create. Of its modes we have declared form
// only; an agent that sends a person to an address is told no.
func (a *adapter) elicitation(p *process, t *turn, f rpc.Frame) {
	var params elicitationParams
	if err := json.Unmarshal(f.Params, &params); err != nil {
		p.Refuse(f.ID, rpc.InvalidParams, "invalid params: "+err.Error())
		return
	}
	q := ask{id: f.ID, question: true}
	if params.Mode != "" && params.Mode != "form" {
		p.settle(q, guestapi.Answer{Decision: guestapi.Deny})
		return
	}
	if t == nil {
		p.settle(q, guestapi.Answer{Decision: guestapi.Cancel})
		return
	}
	key := t.sink.NewKey()
	if !t.open(key, q) {
		p.settle(q, guestapi.Answer{Decision: guestapi.Cancel})
		return
	}
	t.sink.Ask(guestapi.Ask{
		Key: key, Action: event.ActionUnspecified, Payload: f.Params,
		Details: event.AskDetails{Tool: "question", Question: params.Message, Schema: params.Schema},
	}, guest.Source{Type: f.Method, Raw: f.Raw})
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
	t.Unlock()
	if waits {
		p.settle(q, answer)
	}
}

// withdraw answers every open ask with cancel: nobody will decide.
func (t *turn) withdraw() {
	t.Lock()
	open, p := t.asks, t.Process
	t.asks = map[string]ask{}
	t.Unlock()
	for _, q := range open {
		p.settle(q, guestapi.Answer{Decision: guestapi.Cancel})
	}
}

// settle tells the agent what was decided.
func (p *process) settle(q ask, answer guestapi.Answer) {
	if q.question {
		p.Answer(q.id, elicitationAnswer(answer))
		return
	}
	result := permissionAnswer(q.options, answer)
	if q.editable && answer.Decision == guestapi.Allow && len(answer.Input) > 0 {
		result.Meta = &ourMeta{}
		result.Meta.Paddock.UpdatedInput = answer.Input
	}
	p.Answer(q.id, result)
}

func elicitationAnswer(answer guestapi.Answer) elicitationResult {
	switch answer.Decision {
	case guestapi.Allow:
		if answer.Content == nil {
			answer.Content = map[string]any{}
		}
		return elicitationResult{Action: "accept", Content: answer.Content}
	case guestapi.Deny:
		return elicitationResult{Action: "decline"}
	default:
		return elicitationResult{Action: "cancel"}
	}
}

// permissionAnswer chooses the option by its kind. The kinds that last (always)
// are never chosen: the agent would remember a grant outside our policy and
// history. Without a fitting option nothing is granted.
//
// The protocol has no word for the reason; it goes with what agents do not know
// and leave alone.
func permissionAnswer(options []permissionOption, answer guestapi.Answer) (r permissionResult) {
	want := map[guestapi.Decision]string{guestapi.Allow: "allow_once", guestapi.Deny: "reject_once"}[answer.Decision]
	if answer.Reason != "" && answer.Decision == guestapi.Deny {
		r.Meta = &ourMeta{}
		r.Meta.Paddock.Reason = answer.Reason
	}
	r.Outcome.Outcome = "cancelled"
	for _, o := range options {
		if want != "" && o.Kind == want {
			r.Outcome.Outcome, r.Outcome.OptionID = "selected", o.OptionID
			return r
		}
	}
	return r
}
