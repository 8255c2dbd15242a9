package demoagent

import (
	"context"
	"crypto/rand"
	"encoding/hex"
)

// call is one tool call as the client sees it.
type call struct {
	*voice
	id      string
	kind    string
	name    string
	title   string
	input   object
	path    *string
	content []object // of an edit: the diff
	refusal string   // why permission was denied, if that was said
}

func (v *voice) call(kind, name, title string, input object, path *string) *call {
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails
	return &call{voice: v, id: "call_" + hex.EncodeToString(b[:]), kind: kind, name: name, title: title, input: input, path: path}
}

func (c *call) describe() object {
	o := object{"toolCallId": c.id, "name": c.name, "title": c.title, "kind": c.kind, "status": "pending", "rawInput": c.input}
	if c.path != nil {
		o["locations"] = []object{{"path": *c.path}}
	}
	if c.content != nil {
		o["content"] = c.content
	}
	return o
}

func (c *call) send(o object) { c.agent.update(c.session.id, o) }

func (c *call) status(status string, more object) {
	o := object{"sessionUpdate": "tool_call_update", "toolCallId": c.id, "status": status}
	for k, v := range more {
		o[k] = v
	}
	c.send(o)
}

// start shows a call that needs no permission.
func (c *call) start() {
	o := c.describe()
	o["sessionUpdate"] = "tool_call"
	c.send(o)
	c.status("in_progress", nil)
}

// permitted shows the call and asks for permission. A no is said to the person
// and ends the call, not the turn; a cancel is an error.
func (c *call) permitted() (bool, error) {
	allowed, err := c.request()
	if err != nil || allowed {
		return allowed, err
	}
	why := ""
	if c.refusal != "" {
		why = " (" + c.refusal + ")"
	}
	return false, c.say("permission denied: I did not " + c.verb() + why)
}

// request shows the call, asks for permission, and takes over the input that the
// person wants instead.
func (c *call) request() (bool, error) {
	o := c.describe()
	o["sessionUpdate"] = "tool_call"
	c.send(o)
	var reply struct {
		Outcome struct {
			Outcome  string `json:"outcome"`
			OptionID string `json:"optionId"`
		} `json:"outcome"`
		Meta struct {
			Paddock struct {
				UpdatedInput object
				Reason       string
			}
		} `json:"_meta"`
	}
	err := c.agent.call(c.ctx, "session/request_permission", object{
		"sessionId": c.session.id, "toolCall": c.describe(), "options": []object{
			{"optionId": "allow", "name": "Allow once", "kind": "allow_once"},
			{"optionId": "reject", "name": "Reject", "kind": "reject_once"},
		},
		"_meta": object{"paddock": object{"editable": true}},
	}, &reply)
	if err == nil && reply.Outcome.Outcome == "selected" && reply.Outcome.OptionID == "allow" {
		var more object
		if edited := reply.Meta.Paddock.UpdatedInput; edited != nil {
			c.input, more = edited, object{"rawInput": edited}
		}
		c.status("in_progress", more)
		return true, nil
	}
	c.refusal = reply.Meta.Paddock.Reason
	c.end("failed", "permission denied", nil)
	if err == nil && reply.Outcome.Outcome == "cancelled" {
		err = context.Canceled
	}
	return false, err
}

// text is a text of the call's input, which a person may have edited.
func (c *call) text(key string) string {
	s, _ := c.input[key].(string)
	return s
}

func (c *call) verb() string {
	if c.kind == "execute" {
		return "run " + c.title
	}
	return "write " + *c.path
}

// output shows what a running call has put out so far.
func (c *call) output(soFar string) {
	c.send(object{"sessionUpdate": "tool_call_update", "toolCallId": c.id, "content": []object{{"type": "content", "content": text(soFar)}}})
}

// end shows how the call ended.
func (c *call) end(status, output string, raw object) {
	more := object{"content": []object{{"type": "content", "content": text(output)}}}
	if raw != nil {
		more["rawOutput"] = raw
	}
	c.status(status, more)
}
