package approval

import (
	"encoding/json"
	"testing"
	"time"

	"paddock/internal/event"
)

func asked(kind, tool, path, input string) event.Asked {
	return event.Asked{Action: event.ActionUnspecified, Details: event.AskDetails{
		Kind: kind, Tool: tool, Path: path, Input: json.RawMessage(input),
	}}
}

// A grant covers what was approved, however the agent words it, and nothing that
// does more.
func TestGrantCovers(t *testing.T) {
	run := asked("execute", "shell", "", `{"command":"make","cwd":"/workspace","description":"build"}`)
	edit := asked("edit", "write", "/workspace/a", `{"path":"/workspace/a","content":"1"}`)
	call := asked("other", "mcp.tracker.close", "", `{"issue":10000000000000001,"description":"done"}`)
	for name, c := range map[string]struct {
		given, then event.Asked
		want        bool
	}{
		"the same":                     {run, run, true},
		"other words, other order":     {run, asked("execute", "shell", "", `{ "cwd": "/workspace", "description": "again", "command": "make"}`), true},
		"another command":              {run, asked("execute", "shell", "", `{"command":"make; id","cwd":"/workspace"}`), false},
		"another folder":               {run, asked("execute", "shell", "", `{"command":"make","cwd":"/"}`), false},
		"one key more":                 {run, asked("execute", "shell", "", `{"command":"make","cwd":"/workspace","env":{"A":"1"}}`), false},
		"one key less":                 {run, asked("execute", "shell", "", `{"command":"make"}`), false},
		"another tool":                 {run, asked("execute", "terminal", "", string(run.Details.Input)), false},
		"another kind of tool":         {run, asked("other", "shell", "", string(run.Details.Input)), false},
		"the same file":                {edit, asked("edit", "write", "/workspace/a", `{"path":"/workspace/a","content":"2"}`), true},
		"another file":                 {edit, asked("edit", "write", "/workspace/b", `{"path":"/workspace/b","content":"1"}`), false},
		"a path that the input denies": {edit, asked("edit", "write", "/workspace/a", `{"path":"/etc/passwd","content":"1"}`), false},
		"reading what may be written":  {edit, asked("read", "write", "/workspace/a", `{"path":"/workspace/a"}`), false},
		"the same call":                {call, call, true},
		"a number beyond 2^53":         {call, asked("other", "mcp.tracker.close", "", `{"issue":10000000000000002,"description":"done"}`), false},
		"a call's description counts":  {call, asked("other", "mcp.tracker.close", "", `{"issue":10000000000000001,"description":"no"}`), false},
	} {
		t.Run(name, func(t *testing.T) {
			m, ok := MatchOf(c.given)
			if !ok {
				t.Fatal("nothing can be granted")
			}
			stored, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			var g Grant
			if err := json.Unmarshal(stored, &g.Match); err != nil {
				t.Fatal(err)
			}
			if got := g.Covers(c.then); got != c.want {
				t.Errorf("covered: %v", got)
			}
			g.RevokedAt = time.Now()
			if g.Covers(c.then) {
				t.Error("a revoked grant covers it")
			}
		})
	}
	linked := edit
	linked.Details.Paths = []string{"/workspace/a", "/etc/passwd"}
	if m, _ := MatchOf(edit); (Grant{Match: m}).Covers(linked) {
		t.Error("a file that has become a link elsewhere is covered")
	}
	other := run
	other.Action = event.ActionBash
	if m, _ := MatchOf(run); (Grant{Match: m}).Covers(other) {
		t.Error("another action is covered")
	}
}

func TestNothingToGrant(t *testing.T) {
	question := asked("execute", "shell", "", `{"command":"make"}`)
	question.Details.Question = "Which?"
	for name, a := range map[string]event.Asked{
		"a question":         question,
		"no input":           asked("execute", "shell", "", ""),
		"an empty input":     asked("execute", "shell", "", "{}"),
		"no object":          asked("execute", "shell", "", `["make"]`),
		"no tool":            asked("execute", "", "", `{"command":"make"}`),
		"nothing but remark": asked("execute", "shell", "", `{"description":"make"}`),
	} {
		if m, ok := MatchOf(a); ok {
			t.Errorf("%s: a grant would cover %+v", name, m)
		}
	}
}
