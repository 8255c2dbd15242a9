package engine

import (
	"encoding/json"
	"path"

	"paddock/internal/approval"
	"paddock/internal/event"
	"paddock/internal/fault"
	"paddock/internal/guestapi"
	"paddock/internal/policy"
)

// allowsEdit refuses an edited input that the agent does not take, or that the
// session's policy denies: a person answers what the policy asks, and is not
// asked what it denies.
func (e *Engine) allowsEdit(c *change, a approval.Approval, input json.RawMessage) error {
	if !a.Asked.Details.Editable {
		return fault.New(fault.Unprocessable, "the agent takes no other input for %s; approve what it asks, or reject it with a reason", a.ID)
	}
	if c.veil.Repeats(string(input)) {
		return fault.New(fault.Unprocessable, "that input has a [redacted …] in it, which stands for a value that nobody is shown; approve what the agent asks as it is, or reject it with a reason")
	}
	env, err := c.tx.Environment(c.ctx, c.s.Environment)
	if err != nil {
		return err
	}
	q := guestapi.Ask{Action: a.Asked.Action, Details: edited(a.Asked.Details, input)}
	if v := judge(env.Spec, q); v.Action == policy.Deny {
		return fault.New(fault.Unprocessable, "the policy denies that input: %s", v.why)
	}
	return nil
}

// edited is what a tool would do with another input: the command or the file
// that it names now.
func edited(d event.AskDetails, input json.RawMessage) event.AskDetails {
	var in map[string]any
	_ = json.Unmarshal(input, &in) // it is an object
	first := func(keys ...string) string {
		for _, key := range keys {
			if s, ok := in[key].(string); ok {
				return s
			}
		}
		return ""
	}
	d.Input, d.Paths, d.Guessed, d.Command = input, nil, false, ""
	if d.Kind == "execute" {
		d.Command = first("command", "cmd")
	}
	if d.Path = first(approval.PathKeys...); d.Path != "" {
		name := d.Path
		if !path.IsAbs(name) {
			name = path.Join(guestapi.Workspace, name)
		}
		d.Paths = []string{path.Clean(name)}
	}
	return d
}
