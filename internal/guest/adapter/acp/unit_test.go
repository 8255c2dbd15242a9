package acp

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"paddock/internal/event"
	"paddock/internal/guest/adapter/rpc"
	"paddock/internal/guestapi"
)

func TestClassify(t *testing.T) {
	for _, c := range []struct {
		code    int
		message string
		data    string
		want    event.FailureCode
	}{
		{-32000, "Authentication required", ``, event.ModelError},
		{-32603, "x", `{"errorKind":"rate_limit"}`, event.ModelError},
		{-32603, "x", `{"errorKind":"server_error"}`, event.ModelError},
		{-32603, "x", `{"errorKind":"timeout"}`, event.ModelTimeout},
		{-32603, "x", `{"errorKind":"unknown"}`, event.ToolError},
		{-32603, "x", `{"errorName":"ProviderAuthError"}`, event.ModelError},
		{-32603, "x", `{"errorName":"APIError"}`, event.ModelError},
		{-32603, "x", `{"statusCode":429}`, event.ModelError},
		{-32603, "x", `{"status":504}`, event.ModelTimeout},
		{400, "bad", ``, event.ModelError},
		{500, "terminated", ``, event.ModelError},
		{-32603, "You exceeded your current quota", ``, event.ModelError},
		{-32603, "Invalid API key", ``, event.ModelError},
		{-32603, "upstream request timed out", ``, event.ModelTimeout},
		{-32603, "out of luck", `{"errorKind":"demo"}`, event.ToolError},
		{-32603, "out of luck", `"text"`, event.ToolError},
		{-32603, "", `{"status":"bad"}`, event.ToolError},
	} {
		if got := classify(&rpc.Error{Code: c.code, Message: c.message, Data: json.RawMessage(c.data)}); got != c.want {
			t.Errorf("%d %q %s: %d, want %d", c.code, c.message, c.data, got, c.want)
		}
	}
}

func TestPermissionAnswer(t *testing.T) {
	all := []permissionOption{{"1", "", "allow_always"}, {"2", "", "allow_once"}, {"3", "", "reject_always"}, {"4", "", "reject_once"}}
	lasting := []permissionOption{{"1", "", "allow_always"}, {"3", "", "reject_always"}}
	for _, c := range []struct {
		options  []permissionOption
		decision guestapi.Decision
		want     string // option id; "" is cancelled
	}{
		{all, guestapi.Allow, "2"}, {all, guestapi.Deny, "4"}, {all, guestapi.Cancel, ""},
		{lasting, guestapi.Allow, ""}, {lasting, guestapi.Deny, ""}, {nil, guestapi.Allow, ""},
	} {
		got := permissionAnswer(c.options, guestapi.Answer{Decision: c.decision})
		if got.Outcome.OptionID != c.want || (got.Outcome.Outcome == "selected") != (c.want != "") {
			t.Errorf("%v %s: %+v", c.options, c.decision, got)
		}
	}
}

func TestElicitationAnswer(t *testing.T) {
	for decision, want := range map[guestapi.Decision]string{
		guestapi.Allow:  `{"action":"accept","content":{"a":1}}`,
		guestapi.Deny:   `{"action":"decline"}`,
		guestapi.Cancel: `{"action":"cancel"}`,
	} {
		got, _ := json.Marshal(elicitationAnswer(guestapi.Answer{Decision: decision, Content: map[string]any{"a": 1}}))
		if string(got) != want {
			t.Errorf("%s: %s", decision, got)
		}
	}
}

func TestDescribe(t *testing.T) {
	for name, c := range map[string]struct {
		call   string
		action event.Action
		want   event.AskDetails
	}{
		"command":     {`{"kind":"execute","title":"t","name":"Bash","rawInput":{"command":"ls -la"}}`, event.ActionBash, event.AskDetails{Tool: "Bash", Title: "t", Command: "ls -la", Kind: "execute"}},
		"argv":        {`{"kind":"execute","rawInput":{"command":["ls","-la"]}}`, event.ActionBash, event.AskDetails{Tool: "execute", Command: "ls -la", Kind: "execute"}},
		"only title":  {`{"kind":"execute","title":"ls"}`, event.ActionBash, event.AskDetails{Tool: "ls", Title: "ls", Command: "ls", Kind: "execute", Guessed: true}},
		"edit inside": {`{"kind":"edit","name":"w","locations":[{"path":"/workspace/a"}]}`, event.ActionUnspecified, event.AskDetails{Tool: "w", Path: "/workspace/a", Kind: "edit", Paths: []string{"/workspace/a"}}},
		"relative":    {`{"kind":"edit","name":"w","rawInput":{"filePath":"a/../b"}}`, event.ActionUnspecified, event.AskDetails{Tool: "w", Path: "a/../b", Kind: "edit", Paths: []string{"/workspace/b"}}},
		"escapes":     {`{"kind":"edit","name":"w","rawInput":{"path":"../b"}}`, event.ActionWriteOutside, event.AskDetails{Tool: "w", Path: "../b", Kind: "edit", Paths: []string{"/b"}}},
		"outside":     {`{"kind":"delete","name":"w","rawInput":{"path":"/workspace2"}}`, event.ActionWriteOutside, event.AskDetails{Tool: "w", Path: "/workspace2", Kind: "delete", Paths: []string{"/workspace2"}}},
		"diff":        {`{"kind":"edit","name":"w","content":[{"type":"diff","path":"/etc/x","newText":""}]}`, event.ActionWriteOutside, event.AskDetails{Tool: "w", Path: "/etc/x", Kind: "edit", Paths: []string{"/etc/x"}}},
		"fetch":       {`{"kind":"fetch","title":"get it"}`, event.ActionUnspecified, event.AskDetails{Tool: "get it", Title: "get it", Kind: "fetch"}},
		"words":       {`{"kind":"execute","rawInput":{"command":["sh","-c","rm x; it's",""]}}`, event.ActionBash, event.AskDetails{Tool: "execute", Command: `sh -c 'rm x; it'\''s' ''`, Kind: "execute"}},
		"address":     {`{"kind":"fetch","name":"f","rawInput":{"url":"https://x/"}}`, event.ActionUnspecified, event.AskDetails{Tool: "f", Kind: "fetch", URL: "https://x/"}},
		"meta":        {`{"kind":"other","title":"t","_meta":{"claudeCode":{"toolName":"Task"}}}`, event.ActionUnspecified, event.AskDetails{Tool: "Task", Title: "t", Kind: "other"}},
	} {
		var u update
		if err := json.Unmarshal([]byte(c.call), &u); err != nil {
			t.Fatal(err)
		}
		tool := new(tool)
		tool.learn(u)
		tool.called = tool.label()
		c.want.Kind, c.want.Input = u.ToolKind, u.RawInput
		action, details := describe(tool, "/workspace")
		if action != c.action {
			t.Errorf("%s: %s", name, action)
		}
		if d := cmp.Diff(c.want, details); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestDescribeWriteOutside(t *testing.T) {
	tool := tool{kind: "edit", paths: []string{"/workspace/a", "/etc/passwd"}}
	if action, d := describe(&tool, "/workspace"); action != event.ActionWriteOutside || len(d.Paths) != 2 {
		t.Errorf("%s %v", action, d.Paths)
	}
}

// A reason goes with a no.
func TestPermissionReason(t *testing.T) {
	options := []permissionOption{{"1", "", "reject_once"}, {"2", "", "allow_once"}}
	for decision, want := range map[guestapi.Decision]string{
		guestapi.Deny:  `{"outcome":{"outcome":"selected","optionId":"1"},"_meta":{"paddock":{"reason":"why"}}}`,
		guestapi.Allow: `{"outcome":{"outcome":"selected","optionId":"2"}}`,
	} {
		if got, _ := json.Marshal(permissionAnswer(options, guestapi.Answer{Decision: decision, Reason: "why"})); string(got) != want {
			t.Errorf("%s: %s", decision, got)
		}
	}
}

func TestExitCodeAndSummary(t *testing.T) {
	for output, want := range map[string]struct {
		code    int // -1: none
		summary string
	}{
		`{"exitCode":3,"output":"x"}`:              {3, "x"},
		`{"output":"y","metadata":{"exit":0}}`:     {0, "y"},
		`{"exit_code":137,"stdout":""}`:            {137, ""},
		`"plain"`:                                  {-1, "plain"},
		`{"other":1}`:                              {-1, `{"other":1}`},
		`null`:                                     {-1, ""},
		`{"exitCode":"3","output":"not a number"}`: {-1, "not a number"},
	} {
		tool := &tool{output: json.RawMessage(output)}
		code := tool.exitCode()
		if (code == nil) != (want.code < 0) || code != nil && *code != want.code || tool.summary() != want.summary {
			t.Errorf("%s: %v %q", output, code, tool.summary())
		}
	}
	long := &tool{text: strings.Repeat("é", maxSummary) + "end"}
	if s := long.summary(); len(s) > maxSummary+3 || !strings.HasSuffix(s, "end") || !utf8.ValidString(s) {
		t.Errorf("%d bytes of summary", len(s))
	}
}

func TestFreshOutput(t *testing.T) {
	tool := new(tool)
	for _, step := range []struct{ text, want string }{{"a", "a"}, {"ab", "b"}, {"ab", ""}, {"xy", "xy"}} {
		tool.text = step.text
		if got := tool.freshOutput(); got != step.want {
			t.Errorf("%q: %q", step.text, got)
		}
	}
	tool.text = strings.Repeat("z", 2*maxToolOutput)
	if got := tool.freshOutput(); len(got) > maxToolOutput+100 || !strings.Contains(got, "not logged") {
		t.Errorf("%d bytes", len(got))
	}
	tool.text = "more"
	if got := tool.freshOutput(); got != "" {
		t.Errorf("%q", got)
	}
}

// A text that an agent cuts anywhere between its UTF-16 units comes out whole.
func TestJoinerNeverSplitsACodePoint(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("a\\\"ué🦊\n\U0010FFFF"))).Draw(t, "text")
		units := utf16.Encode([]rune(text))
		var j joiner
		var got strings.Builder
		for len(units) > 0 {
			n := rapid.IntRange(1, len(units)).Draw(t, "n")
			var piece strings.Builder
			for _, u := range units[:n] { // as an agent in JavaScript may write it
				piece.WriteString(`\u` + hex4(u))
			}
			units = units[n:]
			part := j.add(json.RawMessage(`"` + piece.String() + `"`))
			if !utf8.ValidString(part) || strings.ContainsRune(part, utf8.RuneError) {
				t.Fatalf("piece %q", part)
			}
			got.WriteString(part)
		}
		if got.String() != text {
			t.Fatalf("%q became %q", text, got.String())
		}
	})
}

func hex4(u uint16) string {
	const digits = "0123456789abcdef"
	return string([]byte{digits[u>>12], digits[u>>8&15], digits[u>>4&15], digits[u&15]})
}

func TestJoinerKeepsEscapedBackslash(t *testing.T) {
	var j joiner
	if got := j.add(json.RawMessage(`"x\\ud83d"`)); got != `x\ud83d` {
		t.Errorf("%q", got)
	}
	if got := j.add(json.RawMessage(`17`)); got != "" {
		t.Errorf("%q", got)
	}
}

func TestTurnTokens(t *testing.T) {
	for name, c := range map[string]struct {
		result string
		last   *update
		want   event.Tokens
		model  string
		ok     bool
	}{
		"usage": {`{"usage":{"inputTokens":5,"outputTokens":2,"cachedReadTokens":1,"thoughtTokens":3}}`, &update{Used: 9}, event.Tokens{Input: 5, Output: 2, CachedInput: 1, Reasoning: 3}, "", true},
		"used":  {`{}`, &update{Used: 9}, event.Tokens{Input: 9}, "", true},
		"quota": {`{"_meta":{"quota":{"token_count":{"input_tokens":4,"output_tokens":3},"model_usage":[{"model":"m"}]}}}`, nil, event.Tokens{Input: 4, Output: 3}, "m", true},
		"none":  {`{"_meta":{"x":1}}`, nil, event.Tokens{}, "", false},
		"lies":  {`{"usage":{"inputTokens":-5}}`, nil, event.Tokens{}, "", false},
	} {
		var r promptResult
		if err := json.Unmarshal([]byte(c.result), &r); err != nil {
			t.Fatal(err)
		}
		tokens, model, ok := turnTokens(r, c.last)
		if tokens != c.want || model != c.model || ok != c.ok {
			t.Errorf("%s: %+v %q %v", name, tokens, model, ok)
		}
	}
}

func TestServerTool(t *testing.T) {
	a := &adapter{agent: guestapi.Agent{Tools: []guestapi.Tool{{Name: "echo"}, {Name: "echo-two"}}}}
	for _, c := range []struct{ called, kind, want string }{
		{"echo_say", "other", "mcp__echo__say"}, {"echo_two_say", "", "mcp__echo-two__say"}, {"echo_say", "execute", ""}, {"say", "other", ""}, {"echo_", "other", ""},
	} {
		if got := a.serverTool(&tool{called: c.called, kind: c.kind}); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
