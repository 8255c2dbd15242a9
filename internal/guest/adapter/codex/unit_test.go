package codex

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"paddock/internal/event"
	"paddock/internal/guestapi"
)

func TestClassify(t *testing.T) {
	for _, c := range []struct {
		message, info string
		want          event.FailureCode
		text          string
	}{
		{"exceeded retry limit, last status: 429 Too Many Requests", `{"responseTooManyFailedAttempts":{"httpStatusCode":429}}`, event.ModelError, ""},
		{"unexpected status 401", `{"httpConnectionFailed":{"httpStatusCode":401}}`, event.ModelError, ""},
		{"x", `{"httpConnectionFailed":{"httpStatusCode":504}}`, event.ModelTimeout, ""},
		{"x", `{"responseStreamDisconnected":{"httpStatusCode":null}}`, event.ModelError, ""},
		{"request timed out", `"other"`, event.ModelTimeout, ""},
		{"x", `"usageLimitExceeded"`, event.ModelError, ""},
		{`{"error":{"code":"c","message":"bad","type":"invalid_request_error"}}`, `"other"`, event.ModelError, "the model's server says: bad (invalid_request_error)"},
		{"stream disconnected before completion: x", `"other"`, event.ModelError, ""},
		{"Missing environment variable: `OPENAI_API_KEY`.", `"other"`, event.ModelError, ""},
		{"x", `"sandboxError"`, event.ToolError, ""},
		{"out of luck", `null`, event.ToolError, ""},
		{"out of luck", `{"new":[1]}`, event.ToolError, ""},
	} {
		code, text := classify(&turnError{Message: c.message, Info: json.RawMessage(c.info)})
		want := c.text
		if want == "" {
			want = c.message
		}
		if code != c.want || text != want {
			t.Errorf("%s %s: %d %q", c.message, c.info, code, text)
		}
	}
	if code, _ := classify(nil); code != event.ToolError {
		t.Error(code)
	}
	if _, text := classify(&turnError{Message: "a", Details: "b"}); text != "a: b" {
		t.Error(text)
	}
}

func TestUnwrap(t *testing.T) {
	for command, want := range map[string]string{
		`/bin/bash -lc 'echo a; exit 3'`:     `echo a; exit 3`,
		`/bin/bash -lc "echo \"a\" \$x 'b'"`: `echo "a" $x 'b'`,
		`/bin/bash -lc ls`:                   `ls`,
		`/bin/sh -c 'it'\''s'`:               `it's`,
		`/bin/bash -lc 'a' b`:                `/bin/bash -lc 'a' b`,
		`/bin/bash -lc 'a`:                   `/bin/bash -lc 'a`,
		`bash x.sh`:                          `bash x.sh`,
		`ls -lc x`:                           `ls -lc x`,
		`sh`:                                 `sh`,
		``:                                   ``,
	} {
		if got := unwrap(command); got != want {
			t.Errorf("%s: %s, want %s", command, got, want)
		}
	}
}

func TestPatched(t *testing.T) {
	got := patched("*** Begin Patch\n*** Add File: a b.txt\n+*** Add File: not\r\n  *** Update File:/c\n*** Move to: d\n*** Delete File: e\n*** End Patch")
	if d := cmp.Diff([]string{"a b.txt", "/c", "d", "e"}, got); d != "" {
		t.Error(d)
	}
	for command, want := range map[string]bool{
		"apply_patch <<'E'\n*** Begin Patch\n": true, "cd x && applypatch '*** Begin Patch'": true, "echo '*** Begin Patch'": false, "apply_patch": false,
	} {
		if hidesPatch(command) != want {
			t.Error(command)
		}
	}
}

func TestSettings(t *testing.T) {
	text := settings(map[string]string{"CODEX_MODEL": `a"b\c`, "OPENAI_BASE_URL": "http://x/v1"}, []guestapi.Tool{
		{Name: "docs-x", Command: []string{"docs", "-v", "a\nb"}, Env: map[string]string{"KEY NAME": "é\x7f"}},
		{Name: "far", URL: "https://far/", Headers: map[string]string{"Authorization": "Bearer x"}},
	})
	for _, want := range []string{
		`model = "a\"b\\c"`, `base_url = "http://x/v1"`, `[mcp_servers."docs-x"]`, `args = ["-v", "a\u000Ab"]`, `env = { "KEY NAME" = "é\u007F" }`,
		`url = "https://far/"`, `http_headers = { "Authorization" = "Bearer x" }`, `default_tools_approval_mode = "prompt"`,
		`shell_snapshot = false`, // has the variables in a file
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if text := settings(nil, nil); !strings.Contains(text, `base_url = "https://api.openai.com/v1"`) || strings.Contains(text, "\nmodel = ") {
		t.Error(text)
	}
	if text := settings(map[string]string{"CODEX_API_KEY": "k"}, nil); !strings.Contains(text, `env_key = "CODEX_API_KEY"`) || strings.Contains(text, `"k"`) {
		t.Error(text)
	}
	if text := requirements("/etc/codex"); !strings.Contains(text, `command = "/opt/paddock/bin/paddock-guest codex-hook || exit 2"`) ||
		!strings.Contains(text, `[{ token = "/opt/paddock/bin/paddock-guest" }, { token = "codex-gate" }], decision = "prompt"`) {
		t.Error(text)
	}
}

func TestOutputIsBounded(t *testing.T) {
	tool := new(tool)
	if got := tool.fresh("ab"); got != "ab" {
		t.Error(got)
	}
	if got := tool.fresh(strings.Repeat("é", maxToolOutput)); len(got) > maxToolOutput+100 || !strings.Contains(got, "not logged") || !utf8.ValidString(got) {
		t.Errorf("%d bytes", len(got))
	}
	if got := tool.fresh("more"); got != "" {
		t.Error(got)
	}
	if got := tail(strings.Repeat("é", maxSummary) + "end"); len(got) > maxSummary+3 || !strings.HasSuffix(got, "end") || !utf8.ValidString(got) {
		t.Errorf("%d bytes", len(got))
	}
}

// Whatever Codex sends, what is reported is whole: each call starts before it
// ends and ends once, texts are valid, and counts are not negative.
func FuzzTranslation(f *testing.F) {
	for _, seed := range []string{
		`{"method":"item/started","params":{"threadId":"t","turnId":"u","item":{"type":"commandExecution","id":"c","command":"/bin/bash -lc 'x'"}}}
{"method":"item/commandExecution/outputDelta","params":{"threadId":"t","turnId":"u","itemId":"c","delta":"x"}}
{"method":"item/completed","params":{"threadId":"t","turnId":"u","item":{"type":"commandExecution","id":"c","exitCode":1}}}`,
		`{"method":"item/completed","params":{"threadId":"t","turnId":"u","item":{"type":"fileChange","id":"f","changes":[{"path":"a","kind":{"type":"add"},"diff":"b"}]}}}`,
		`{"method":"item/completed","params":{"threadId":"t","turnId":"u","item":{"type":"mcpToolCall","id":"m","result":{"content":[{"text":"x"}]},"error":null}}}`,
		`{"method":"thread/tokenUsage/updated","params":{"threadId":"t","turnId":"u","tokenUsage":{"last":{"inputTokens":-5,"outputTokens":1},"total":{"inputTokens":1}}}}`,
		`{"method":"item/agentMessage/delta","params":{"threadId":"t","turnId":"u","itemId":"a","delta":"\ud83d"}}`,
		`{"method":"error","params":{"threadId":"t","turnId":"u","willRetry":true,"error":{"message":"{}"}}}`,
		`{"method":"turn/completed","params":{"threadId":"t","turn":{"id":"u","status":"failed","error":{"message":"x","codexErrorInfo":3}}}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, lines string) {
		sink := &strict{T: t, open: map[string]int{}}
		a := &adapter{}
		p := &process{adapter: a, thread: "t"}
		turn := newTurn(sink)
		turn.Process, turn.id, a.turn = p, "u", turn
		for line := range strings.Lines(lines) {
			var m struct{ ID json.RawMessage }
			if json.Unmarshal([]byte(line), &m) == nil && len(m.ID) > 0 {
				continue // answers and questions need a process
			}
			p.Line([]byte(strings.TrimSpace(line)))
		}
		turn.say.finish(true)
		for id, n := range sink.open {
			if n != 2 {
				t.Errorf("call %q has %d of 2 ends", id, n)
			}
		}
	})
}
