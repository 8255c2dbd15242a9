package claude

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"paddock/internal/event"
	"paddock/internal/guestapi"
)

func TestClassify(t *testing.T) {
	for _, c := range []struct {
		frame   string
		want    event.FailureCode
		message string
	}{
		{`{"subtype":"success","is_error":true,"api_error_status":429,"terminal_reason":"api_error","result":"slow down"}`, event.ModelError, "slow down"},
		{`{"api_error_status":504,"result":"x"}`, event.ModelTimeout, "x"},
		{`{"api_error_status":408,"result":"x"}`, event.ModelTimeout, "x"},
		{`{"api_error_status":null,"api_error":"connection_failed","result":"x"}`, event.ModelError, "x"},
		{`{"api_error":"request_timeout","result":"x"}`, event.ModelTimeout, "x"},
		{`{"terminal_reason":"prompt_too_long","result":"x"}`, event.ModelError, "x"},
		{`{"subtype":"error_max_turns","errors":["too many turns"]}`, event.ToolError, "too many turns"},
		{`{"subtype":"error_during_execution","terminal_reason":"aborted_tools","errors":["[ede_diagnostic] a=b"]}`, event.ToolError, "the agent ended the turn with an error (aborted_tools)"},
		{`{"terminal_reason":"api_error","result":"Not logged in"}`, event.ModelError,
			"the agent has no key for its model: give the session one, such as ANTHROPIC_API_KEY (the agent said: Not logged in)"},
		{`{}`, event.ToolError, "the agent ended the turn with an error (it says no more)"},
	} {
		f, err := parse([]byte(`{"type":"result",` + strings.TrimPrefix(strings.Replace(c.frame, "{}", `{"num_turns":1}`, 1), "{")))
		if err != nil {
			t.Fatal(err)
		}
		if got := classify(f.result); got != c.want || f.complaint() != c.message {
			t.Errorf("%s: %d %q", c.frame, got, f.complaint())
		}
	}
}

// The agent counts from the start of its process, so what a turn used is the
// difference, and a restarted one counts anew.
func TestSpentSince(t *testing.T) {
	result := func(text string) result {
		f, err := parse([]byte(`{"type":"result",` + text + `}`))
		if err != nil {
			t.Fatal(err)
		}
		return f.result
	}
	var s spent
	for i, c := range []struct {
		text string
		want []usage
		cost int64
	}{
		{`"total_cost_usd":0.25,"modelUsage":{"big":{"inputTokens":100,"outputTokens":10,"cacheReadInputTokens":40,"cacheCreationInputTokens":7,"thinkingTokens":3}}`,
			[]usage{{"big", event.Tokens{Input: 147, Output: 10, CachedInput: 40, Reasoning: 3}}}, 250_000},
		{`"total_cost_usd":0.26,"modelUsage":{"big":{"inputTokens":110,"outputTokens":11,"cacheReadInputTokens":40,"cacheCreationInputTokens":7,"thinkingTokens":3},"small":{"outputTokens":2}}`,
			[]usage{{"big", event.Tokens{Input: 10, Output: 1}}, {"small", event.Tokens{Output: 2}}}, 10_000},
		{`"total_cost_usd":0.26`, nil, 0},
		{`"total_cost_usd":-1,"modelUsage":{}`, nil, 0},
		{`"total_cost_usd":0.1,"modelUsage":{"big":{"inputTokens":5}}`, []usage{{"big", event.Tokens{Input: 5}}}, 100_000},
	} {
		got, cost := s.since(result(c.text))
		if d := cmp.Diff(c.want, got, cmp.AllowUnexported(usage{})); d != "" || cost != c.cost {
			t.Errorf("%d: %s cost %d", i, d, cost)
		}
	}
}

func TestDescribe(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/file", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc", dir+"/out"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, input string
		action      event.Action
		want        event.AskDetails
	}{
		{"Bash", `{"command":"make","description":"Build"}`, event.ActionBash, event.AskDetails{Kind: "execute", Command: "make", Title: "Build"}},
		{"Bash", `{"command":7}`, event.ActionBash, event.AskDetails{Kind: "execute"}},
		{"Read", `{"file_path":"/etc/passwd"}`, event.ActionUnspecified, event.AskDetails{Kind: "read", Path: "/etc/passwd", Paths: []string{"/etc/passwd"}}},
		{"Read", `{}`, event.ActionUnspecified, event.AskDetails{Kind: "read"}},
		{"Write", `{"file_path":"` + dir + `/a"}`, event.ActionUnspecified, event.AskDetails{Kind: "edit", Path: dir + "/a", Paths: []string{dir + "/a"}}},
		{"Edit", `{"file_path":"` + dir + `/out/x"}`, event.ActionWriteOutside, event.AskDetails{Kind: "edit", Path: dir + "/out/x", Paths: []string{dir + "/out/x", "/etc/x"}}},
		{"NotebookEdit", `{"notebook_path":"/n.ipynb"}`, event.ActionWriteOutside, event.AskDetails{Kind: "edit", Path: "/n.ipynb", Paths: []string{"/n.ipynb"}}},
		{"Grep", `{"pattern":"key"}`, event.ActionUnspecified, event.AskDetails{Kind: "search", Path: dir, Title: "key"}},
		{"Grep", `{"pattern":"key","path":"file"}`, event.ActionUnspecified, event.AskDetails{Kind: "search", Path: "file", Paths: []string{dir + "/file"}, Title: "key"}},
		{"WebFetch", `{"url":"https://example.com/x"}`, event.ActionUnspecified, event.AskDetails{Kind: "fetch", URL: "https://example.com/x"}},
		{"WebSearch", `{"query":"gophers"}`, event.ActionUnspecified, event.AskDetails{Kind: "fetch", Title: "gophers"}},
		{"mcp__git__log", `{}`, event.ActionUnspecified, event.AskDetails{Kind: "other"}},
		{"New", `[]`, event.ActionUnspecified, event.AskDetails{Kind: "other"}},
	} {
		c.want.Tool, c.want.Input, c.want.Editable = c.name, json.RawMessage(c.input), true
		action, got := (&tool{name: c.name, input: json.RawMessage(c.input)}).describe(dir)
		if d := cmp.Diff(c.want, got); d != "" || action != c.action {
			t.Errorf("%s %s: %s %s", c.name, c.input, action, d)
		}
	}
}

func TestExitCode(t *testing.T) {
	bash := &tool{name: "Bash"}
	for output, want := range map[string]int{"Exit code 3\nhi": 3, "Exit code 137": 137, "Error: Exit code 1\n": 1, "Exit code 3x": -1, "no": -1, "said\nExit code 3": -1} {
		if got := bash.exitCode(false, output); (got == nil) != (want < 0) || got != nil && *got != want {
			t.Errorf("%q: %v", output, got)
		}
	}
	if bash.exitCode(true, "Exit code 3") != nil || (&tool{name: "Read"}).exitCode(false, "Exit code 3") != nil {
		t.Error("an exit code of what did not end with it")
	}
}

func TestAnswersByQuestion(t *testing.T) {
	var in questions
	if err := json.Unmarshal([]byte(`{"questions":[
		{"question":"Which colour?","header":"Colour"},{"question":"Which days?","header":"Days","multiSelect":true},{"question":"Why?","header":"Why"}]}`), &in); err != nil {
		t.Fatal(err)
	}
	got := in.answers(map[string]any{"Colour": "Red", "Days": []any{"Mon", "Tue"}, "other": "x"})
	if d := cmp.Diff(map[string]string{"Which colour?": "Red", "Which days?": "Mon, Tue"}, got); d != "" {
		t.Error(d)
	}
}

func TestAnswersInTheAgentsWords(t *testing.T) {
	edited := json.RawMessage(`{"command":"ls"}`)
	for name, c := range map[string]struct {
		got  any
		want string
	}{
		"hook allow":  {hookAnswer(guestapi.Answer{Decision: guestapi.Allow}), `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}`},
		"hook edited": {hookAnswer(guestapi.Answer{Decision: guestapi.Allow, Input: edited}), `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{"command":"ls"}}}`},
		"hook deny":   {hookAnswer(guestapi.Answer{Decision: guestapi.Deny, Reason: "no"}), `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}`},
		"hook odd":    {hookAnswer(guestapi.Answer{Decision: "perhaps"}), `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"a person rejected this call"}}`},
		"allow":       {permissionAnswer(edited, guestapi.Answer{Decision: guestapi.Allow}), `{"behavior":"allow","updatedInput":{"command":"ls"}}`},
		"allow none":  {permissionAnswer(nil, guestapi.Answer{Decision: guestapi.Allow}), `{"behavior":"allow","updatedInput":{}}`},
		"deny":        {permissionAnswer(edited, guestapi.Answer{Decision: guestapi.Deny}), `{"behavior":"deny","message":"a person rejected this call"}`},
		"accept":      {elicitationAnswer(guestapi.Answer{Decision: guestapi.Allow, Content: map[string]any{"a": 1}}), `{"action":"accept","content":{"a":1}}`},
		"decline":     {elicitationAnswer(guestapi.Answer{Decision: guestapi.Deny}), `{"action":"decline"}`},
	} {
		if got := text(c.got); got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestArgv(t *testing.T) {
	agent := guestapi.Agent{Argv: []string{"claude"}, Tools: []guestapi.Tool{
		{Name: "git", Command: []string{"mcp-git", "--all"}, Env: map[string]string{"A": "b"}},
		{Name: "web", URL: "https://mcp.example.com", Headers: map[string]string{"X": "y"}},
	}}
	got := strings.Join(argv(agent, "/workspace", "abc"), " ")
	for _, part := range []string{
		"claude -p --input-format stream-json ", " --setting-sources user ", ` --settings {"disableAllHooks":true,`, " --add-dir /workspace ", " --strict-mcp-config ",
		` --mcp-config {"mcpServers":{"git":{"command":"mcp-git","args":["--all"],"env":{"A":"b"}},"web":{"type":"http","url":"https://mcp.example.com","headers":{"X":"y"}}}}`, " --resume abc",
	} {
		if !strings.Contains(got, part) {
			t.Errorf("no %q in %s", part, got)
		}
	}
	if strings.Contains(got, "IS_SANDBOX") {
		t.Error(got)
	}
	agent.Root = true
	if got := strings.Join(argv(agent, "/workspace", ""), " "); !strings.Contains(got, `"IS_SANDBOX":"1"`) || strings.Contains(got, "--resume") {
		t.Error(got)
	}
}

// A field of another form than it was leaves the rest readable.
func TestParse(t *testing.T) {
	if f, err := parse([]byte(`{"type":"system","subtype":"init","mcp_servers":"none","session_id":"s"}`)); err != nil || f.SessionID != "s" {
		t.Errorf("%+v %v", f, err)
	}
	for _, bad := range []string{`nonsense`, `[1]`, `{"type":7}`} {
		if f, err := parse([]byte(bad)); err == nil || string(f.raw) != bad {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
