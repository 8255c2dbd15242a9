package codex

import (
	"cmp"
	"encoding/json"

	"paddock/internal/event"
	"paddock/internal/guest"
	"paddock/internal/guest/adapter/rpc"
	"paddock/internal/guestapi"
)

// ask is something that waits for the host: a call that the hook told of, or a
// question to the user.
type ask struct {
	call   *call                     // or:
	id     json.RawMessage           // of the request of the question
	answer func(guestapi.Answer) any // in Codex's words
	of     string                    // the call that the question is
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
	if q.call != nil {
		t.calls[q.call.id] = q.call
	}
	return true
}

// request takes what Codex asks.
func (a *adapter) request(p *process, f rpc.Frame) {
	t := a.turnOf(p)
	switch f.Method {
	case "item/commandExecution/requestApproval", "item/fileChange/requestApproval":
		a.approval(p, t, f)
	case "mcpServer/elicitation/request":
		a.elicitation(p, t, f)
	case "item/tool/requestUserInput":
		a.userInput(p, t, f)
	default:
		p.Refuse(f.ID, rpc.MethodNotFound, "Method not found: "+f.Method)
		a.note("debug", "the agent asked for "+f.Method+", which is not offered", f)
	}
}

// approval answers whether a call may go on, as soon as that is decided. Every
// call comes from the hook first; of one that did not nothing is known, and it
// may not.
func (a *adapter) approval(p *process, t *turn, f rpc.Frame) {
	var params approvalParams
	if json.Unmarshal(f.Params, &params) == nil && t != nil && t.await(func() *call { return t.calls[params.ItemID] }, approval{id: f.ID}) {
		return
	}
	p.Answer(f.ID, approvalResult{"decline"})
	a.note("warn", "the agent asked about a call that it had not shown before; it was declined", f)
}

// await has a question wait for the decision about a call; false when the call is
// not known. find is called with the turn locked.
func (t *turn) await(find func() *call, q approval) bool {
	t.Lock()
	c := find()
	if c == nil {
		t.Unlock()
		return false
	}
	if !c.isDecided() {
		c.approvals = append(c.approvals, q)
		t.Unlock()
		return true
	}
	t.Unlock()
	t.settle(c, q)
	return true
}

// settle answers a question about a call that is decided.
func (t *turn) settle(c *call, q approval) {
	yes, no, cancel := "accept", "decline", "cancel"
	word := map[guestapi.Decision]string{guestapi.Allow: yes, guestapi.Deny: no}[c.answer.Decision]
	if word == "" {
		word = cancel
	}
	if word != yes {
		t.say.note(c.id, note{summary: rejection(c.answer)})
	}
	if q.ofServer {
		t.Process.Answer(q.id, elicitationResult{Action: word, Content: map[string]any{}})
		return
	}
	if word == no && c.answer.Reason != "" && c.gate != "" {
		word = yes // the gate does not run it, and tells the model why
	}
	t.Process.Answer(q.id, approvalResult{word})
}

// elicitation takes a question of an MCP server, which goes to a person, and
// Codex's own about a call of one, which is about a call that the hook told of.
func (a *adapter) elicitation(p *process, t *turn, f rpc.Frame) {
	var params elicitationParams
	if err := json.Unmarshal(f.Params, &params); err != nil {
		p.Refuse(f.ID, rpc.InvalidParams, "invalid params: "+err.Error())
		return
	}
	if params.Meta.Kind != "" {
		find := func() *call {
			for _, c := range t.calls {
				if !c.claimed && plain(c.tool) == plain("mcp__"+params.Server+"__"+params.Meta.Tool) && same(c.input, params.Meta.Params) {
					c.claimed = true
					return c
				}
			}
			return nil
		}
		if params.Meta.Kind == "mcp_tool_call" && t != nil && t.await(find, approval{id: f.ID, ofServer: true}) {
			return
		}
		p.Answer(f.ID, elicitationResult{Action: "decline"})
		a.note("warn", "the agent asked about a call that it had not shown before; it was declined", f)
		return
	}
	answer := func(answer guestapi.Answer) any {
		switch answer.Decision {
		case guestapi.Allow:
			return elicitationResult{"accept", answer.Content}
		case guestapi.Deny:
			return elicitationResult{"decline", nil}
		}
		return elicitationResult{"cancel", nil}
	}
	if params.Mode != "form" && params.Mode != "openai/form" && params.Mode != "openaiForm" {
		p.Answer(f.ID, answer(guestapi.Answer{Decision: guestapi.Deny}))
		return
	}
	a.question(p, t, f, answer, guestapi.Ask{Details: event.AskDetails{
		Tool: "question", Question: cmp.Or(params.Message, "The tool "+params.Server+" asks for what follows."), Schema: params.Schema,
	}})
}

// question has a person answer.
func (a *adapter) question(p *process, t *turn, f rpc.Frame, answer func(guestapi.Answer) any, q guestapi.Ask) {
	if t != nil {
		q.Key = t.sink.NewKey()
	}
	if t == nil || !t.open(q.Key, ask{id: f.ID, answer: answer, of: q.ToolCallID}) {
		p.Answer(f.ID, answer(guestapi.Answer{Decision: guestapi.Cancel}))
		return
	}
	q.Action, q.Payload = event.ActionUnspecified, f.Params
	t.sink.Ask(q, guest.Source{Type: f.Method, Raw: f.Raw})
}

// Answer is part of guest.Adapter.
func (a *adapter) Answer(key string, answer guestapi.Answer) {
	t := a.current()
	if t != nil {
		t.take(key, answer)
	}
}

// take settles an ask, or learns that a person decides it.
func (t *turn) take(key string, answer guestapi.Answer) {
	t.Lock()
	q, waits := t.asks[key]
	if !waits {
		t.Unlock()
		return
	}
	if answer.Decision == guestapi.Wait {
		if q.call != nil && !q.call.asked {
			q.call.asked = true
			close(q.call.judged)
		}
		t.Unlock()
		return
	}
	delete(t.asks, key)
	p := t.Process
	var waiting []approval
	if q.call != nil {
		waiting = q.call.decide(answer)
	}
	t.Unlock()
	if q.call == nil {
		if q.of != "" {
			t.say.note(q.of, note{ok: answer.Decision == guestapi.Allow, summary: answered(answer), last: true})
		}
		p.Answer(q.id, q.answer(answer))
		return
	}
	for _, w := range waiting {
		t.settle(q.call, w)
	}
}

// answered is what came of a question, for the history; what a person wrote is no
// part of that.
func answered(answer guestapi.Answer) string {
	if answer.Decision == guestapi.Allow {
		return "a person answered"
	}
	return "nobody answered"
}

// decide notes what was decided, and gives the questions that wait for it. Once;
// the turn is locked.
func (c *call) decide(answer guestapi.Answer) []approval {
	c.answer = answer
	if !c.asked {
		c.asked = true
		close(c.judged)
	}
	close(c.decided)
	waiting := c.approvals
	c.approvals = nil
	return waiting
}

// withdraw answers every open ask with cancel: nobody will decide. over says that
// the turn is.
func (t *turn) withdraw(over bool) {
	t.Lock()
	t.Over = t.Over || over
	var keys []string
	for key := range t.asks {
		keys = append(keys, key)
	}
	t.Unlock()
	for _, key := range keys {
		t.take(key, guestapi.Answer{Decision: guestapi.Cancel})
	}
}
