package engine

import (
	"regexp"

	"paddock/internal/environment"
	"paddock/internal/event"
	"paddock/internal/guestapi"
	"paddock/internal/policy"
)

// verdict is what the policy says of an ask, and why in words.
type verdict struct {
	policy.Verdict
	why string
}

// judge holds what an agent asks to do against the session's policy.
func judge(spec environment.Spec, q guestapi.Ask) verdict {
	rules := spec.Permissions.Policy(guestapi.Workspace, agentHome(spec))
	call := wants(q)
	v := rules.Decide(call)
	if q.Details.Guessed {
		call.Command = "" // the title may say something else than is run
		if w := rules.Decide(call); stricter(w.Action, v.Action) {
			v = w
		}
	}
	return verdict{v, rules.Because(v)}
}

func stricter(a, b policy.Action) bool { return a != b && (a == policy.Deny || b == policy.Allow) }

// wants says in the policy's words what an agent asks to do. Of a kind that the
// policy has no word for, only rules for any tool and the default speak.
func wants(q guestapi.Ask) policy.Call {
	d := q.Details
	call := policy.Call{Tool: "other", Paths: d.Paths, URL: d.URL, Command: d.Command, Dir: d.Dir}
	if len(call.Paths) == 0 && d.Path != "" && d.Kind == "" { // a guest of an older build
		call.Paths = []string{d.Path}
	}
	switch {
	case q.Action == event.ActionBash, d.Kind == "execute":
		call.Tool = policy.Bash
	case q.Action == event.ActionWriteOutside, d.Kind == "edit", d.Kind == "delete", d.Kind == "move":
		call.Tool = policy.FileWrite
	case d.Kind == "read", d.Kind == "search":
		call.Tool = policy.FileRead
	case d.Kind == "fetch":
		call.Tool = policy.WebFetch
	default:
		if m := mcpTool.FindStringSubmatch(d.Tool); m != nil {
			call.Tool = "mcp." + m[1] + "." + m[2]
		}
	}
	return call
}

// mcpTool is how agents name the tools of MCP servers.
var mcpTool = regexp.MustCompile(`^mcp__([A-Za-z0-9-]+(?:_[A-Za-z0-9-]+)*)__([A-Za-z0-9_-]+)$`)

// denied is the event of a call that the policy denied.
func (v verdict) denied(q guestapi.Ask) event.Denied {
	d := deniedBy(q, v.why)
	if d.Detail == "" {
		d.Detail = v.Subject
	}
	return d
}
