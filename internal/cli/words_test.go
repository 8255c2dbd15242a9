package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"paddock/client"
)

func TestAgo(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for want, d := range map[string]time.Duration{
		"just now": 100 * time.Millisecond, "90s ago": 90 * time.Second, "90m ago": 90 * time.Minute,
		"47h ago": 47 * time.Hour, "3d ago": 80 * time.Hour,
	} {
		if got := ago(now, now.Add(-d)); got != want {
			t.Errorf("ago(%v) = %q, want %q", d, got, want)
		}
	}
	if got := ago(now, time.Time{}); got != "" {
		t.Errorf("no time is %q", got)
	}
}

func TestLasted(t *testing.T) {
	start := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for want, d := range map[string]time.Duration{
		"43ms": 43 * time.Millisecond, "1.9s": 1940 * time.Millisecond, "59.0s": 59 * time.Second, "0ms": -time.Second,
		"2m 5s": 125 * time.Second, "3h 1m": 181 * time.Minute,
	} {
		if got := lasted(start.Add(time.Hour), client.Run{StartedAt: start, EndedAt: start.Add(d)}); got != want {
			t.Errorf("lasted %v: %q, want %q", d, got, want)
		}
		if got := lasted(start.Add(d), client.Run{StartedAt: start}); got != want {
			t.Errorf("lasts %v: %q, want %q", d, got, want)
		}
	}
	if got := lasted(start, client.Run{}); got != "" {
		t.Errorf("a queued run lasts %q", got)
	}
}

func TestSessionsAreCounted(t *testing.T) {
	if one, two := sessions(1), sessions(2); one != "1 session" || two != "2 sessions" {
		t.Errorf("%q, %q", one, two)
	}
}

func TestTableAlignsCharactersNotBytes(t *testing.T) {
	var b strings.Builder
	table(&b, []string{"NAME", "X"}, [][]string{{"größe", "1"}, {"a", ""}})
	if want := "NAME   X\ngröße  1\na\n"; b.String() != want {
		t.Errorf("got\n%s", b.String())
	}
}

func TestGist(t *testing.T) {
	for _, c := range [][3]string{
		{"run.tool_call_started", `{"name":"shell","input":{"command":["ls","-l"]}}`, "shell  ls -l"},
		{"run.tool_call_started", `{"name":"write","input":{"path":"a.txt","content":"x"}}`, "write  a.txt"},
		{"run.tool_call_started", `{"name":"other","input":{"q":1}}`, `other  {"q":1}`},
		{"run.tool_call_completed", `{"ok":false,"duration_ms":1500,"summary":"no\nsuch"}`, "failed after 1.5 s: no such"},
		{"run.tool_call_completed", `{"ok":true,"exit_code":3}`, "exit code 3 after 0.0 s"},
		{"run.usage_recorded", `{"model_id":"m","usage":{"input_tokens":5,"output_tokens":6}}`, "5 tokens in, 6 out m"},
		{"run.sandbox_allocated", `{"sandbox_id":"sbx_1","kind":"gvisor"}`, "sbx_1 gvisor"},
		{"run.log", `{"level":"warn","message":"slow"}`, "warn: slow"},
		{"policy.denied", `{"tool":"shell","detail":"not allowed"}`, "shell not allowed"},
		{"session.updated", `{"status":"SESSION_STATUS_FAILED","message":"gone"}`, "failed: gone"},
		{"of.tomorrow", `{"x":1}`, ""},
		{"run.log", `not json`, ": "},
	} {
		if got := gist(client.Event{Type: c[0], Data: json.RawMessage(c[1])}); got != c[2] {
			t.Errorf("%s %s: %q, want %q", c[0], c[1], got, c[2])
		}
	}
}

func TestDollars(t *testing.T) {
	for micros, want := range map[int64]string{0: "", 1: "$0.000001", 10_000: "$0.01", 126_000: "$0.126", 5_000_000: "$5.00", 1_230_500_000: "$1230.50"} {
		if got := dollars(micros); got != want {
			t.Errorf("%d micros are %q, want %q", micros, got, want)
		}
	}
}
