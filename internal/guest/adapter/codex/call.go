package codex

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"paddock/internal/event"
	"paddock/internal/guest/adapter/named"
	"paddock/internal/guestapi"
)

// The hook's words for what has rules of its own.
const (
	shellTool    = "Bash"
	patchTool    = "apply_patch"
	imageTool    = "view_image"
	resourceTool = "read_mcp_resource"
	questionTool = "request_user_input"
	planTool     = "update_plan"   // touches nothing
	othersTools  = "collaboration" // sub-agents', which go past the turn; models that Codex knows are offered them all the same
)

// hookCall is what Codex tells the hook.
type hookCall struct {
	Thread string          `json:"session_id"`
	ID     string          `json:"tool_use_id"`
	Tool   string          `json:"tool_name"`
	Input  json.RawMessage `json:"tool_input"`
	Cwd    string          `json:"cwd"`
}

// call is one that the hook told of. The turn's lock guards what may change.
type call struct {
	id      string
	tool    string
	command string          // of a command
	input   json.RawMessage // of a call of an MCP server
	gate    string          // by what the gate knows the command

	judged  chan struct{} // closed when it is known whether a person decides
	decided chan struct{} // closed when it is decided

	asked     bool            // a person decides
	answer    guestapi.Answer // valid once decided
	approvals []approval      // questions of Codex about it that wait
	claimed   bool            // a question of Codex about a server's tool is this one's
	ran       bool            // by the gate
}

// approval is a question of Codex about a call.
type approval struct {
	id       json.RawMessage // of the request
	ofServer bool            // it is about a tool of an MCP server, and answered in other words
}

func newCall(in hookCall) *call {
	c := &call{id: in.ID, tool: in.Tool, judged: make(chan struct{}), decided: make(chan struct{})}
	switch {
	case in.Tool == shellTool:
		c.command, c.gate = in.field("command"), rand.Text()
	case in.mcp():
		c.input = in.Input
	}
	return c
}

// field is a text of the input.
func (in hookCall) field(name string) string {
	var fields map[string]json.RawMessage
	var text string
	if json.Unmarshal(in.Input, &fields) != nil || json.Unmarshal(fields[name], &text) != nil {
		return ""
	}
	return text
}

// mcp says whether it is a call of an MCP server.
func (in hookCall) mcp() bool { return strings.HasPrefix(in.Tool, "mcp__") }

// ask is the call as a question to the host.
func (a *adapter) ask(in hookCall) guestapi.Ask {
	q := guestapi.Ask{ToolCallID: in.ID, Action: event.ActionUnspecified, Wait: guestapi.WaitNever}
	d := &q.Details
	d.Tool, d.Kind, d.Input = in.Tool, in.kind(), in.Input
	switch {
	case in.Tool == shellTool:
		q.Action, q.Wait, d.Command, d.Editable = event.ActionBash, guestapi.WaitElsewhere, in.field("command"), true
		d.Input = in.shown(a.dir)
		if dir := in.dir(a.dir); dir != a.dir {
			d.Dir = dir
		}
	case in.Tool == patchTool:
		d.Paths = named.Files(in.dir(a.dir), patched(in.field("command")))
		if len(d.Paths) > 0 {
			d.Path = d.Paths[0]
		}
		if slices.ContainsFunc(d.Paths, func(name string) bool { return !named.Below(a.dir, name) }) {
			q.Action = event.ActionWriteOutside
		}
	case in.Tool == imageTool:
		d.Path = in.field("path")
		d.Paths = named.Files(in.dir(a.dir), []string{d.Path})
	case in.Tool == resourceTool:
		d.Tool = "mcp__" + in.field("server") + "__" + resourceTool
	case in.mcp():
		q.Wait, d.Tool = guestapi.WaitElsewhere, a.called(in.Tool)
	}
	return q
}

func (in hookCall) kind() string {
	switch in.Tool {
	case shellTool:
		return "execute"
	case patchTool:
		return "edit"
	case imageTool:
		return "read"
	}
	return "other"
}

// shown is the input for the history, with the folder of a command that runs
// elsewhere than in the workspace: nobody is to allow it for there by allowing it
// for here.
func (in hookCall) shown(workspace string) json.RawMessage {
	switch dir := in.dir(workspace); {
	case in.Tool == shellTool && dir != workspace:
		return object(map[string]any{"command": in.field("command"), "workdir": dir})
	case in.Tool == patchTool:
		patch := in.field("command")
		paths := patched(patch)
		return object(map[string]any{"path": cmp.Or(paths...), "paths": paths, "patch": patch})
	}
	return in.Input
}

func (in hookCall) dir(workspace string) string {
	if path.IsAbs(in.Cwd) {
		return in.Cwd
	}
	return workspace
}

// patchHeads begin the lines of a patch that name files.
var patchHeads = []string{"*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"}

// patched lists the files that a patch names. A line that only looks as if it
// named one counts too: more files are a stricter question.
func patched(patch string) (names []string) {
	for line := range strings.Lines(patch) {
		line = strings.TrimSpace(line)
		for _, head := range patchHeads {
			if name, ok := strings.CutPrefix(line, head); ok {
				names = append(names, strings.TrimSpace(name))
			}
		}
	}
	return names
}

// hidesPatch says whether a command is a patch in disguise: Codex applies those
// itself, as an edit that the rules for commands know nothing of.
func hidesPatch(command string) bool {
	return strings.Contains(command, "*** Begin Patch") && (strings.Contains(command, "apply_patch") || strings.Contains(command, "applypatch"))
}

// called gives a tool of an MCP server the name that rules have for it: Codex
// writes servers' names in fewer characters than a spec.
func (a *adapter) called(tool string) string {
	for _, t := range a.agent.Tools {
		if rest, ok := strings.CutPrefix(tool, "mcp__"+plain(t.Name)+"__"); ok {
			return "mcp__" + t.Name + "__" + rest
		}
	}
	return tool
}

// plain writes a name in the characters that all names of tools have.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, name)
}

// same says whether two inputs are, whatever the order of their fields.
func same(a, b json.RawMessage) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	one, _ := json.Marshal(x) // what was decoded encodes
	two, _ := json.Marshal(y)
	return string(one) == string(two)
}
