package transcript

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/renderer/html"
	"pgregory.net/rapid"

	"paddock/client"
)

var start = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// document reads events of these types and payloads, a second apart; a text that
// is %q in a payload is said by somebody else.
func document(t interface{ Fatal(...any) }, events [][2]string, said string) *Document {
	quoted, err := json.Marshal(said)
	if err != nil {
		t.Fatal(err)
	}
	d := New(client.Session{Name: "hello", SessionID: "sess_1", Adapter: said, CreatedAt: start}, "ready", start.Add(time.Hour))
	for i, e := range events {
		data := strings.ReplaceAll(e[1], `"TEXT"`, string(quoted))
		if !json.Valid([]byte(data)) {
			t.Fatal("not JSON: ", data)
		}
		event := client.Event{Seq: int64(i + 1), Type: e[0], Data: json.RawMessage(data), Timestamp: start.Add(time.Duration(i) * time.Second)}
		if !strings.HasPrefix(e[0], "session.") {
			event.RunID = "run_1"
		}
		d.Read(event)
	}
	return d
}

// life has something of everything; TEXT is whatever somebody else may write.
var life = [][2]string{
	{"session.updated", `{"status":"SESSION_STATUS_PROVISIONING"}`},
	{"session.updated", `{"status":"SESSION_STATUS_READY","message":"TEXT"}`},
	{"run.started", `{"agent":"demo","text":"TEXT"}`},
	{"run.token_delta", `{"text":"TEXT","is_reasoning":true}`},
	{"run.token_delta", `{"text":"TEXT"}`},
	{"run.tool_call_started", `{"tool_call_id":"t1","name":"TEXT","input":{"command":"TEXT","TEXT":"TEXT"}}`},
	{"run.human_input_requested", `{"hitl_id":"h1","tool_call_id":"t1","details":{"command":"TEXT","tool":"TEXT"}}`},
	{"run.human_input_received", `{"hitl_id":"h1","outcome":"HITL_OUTCOME_DEFER","actor":"TEXT","reason":"TEXT"}`},
	{"run.human_input_received", `{"hitl_id":"h1","outcome":"HITL_OUTCOME_APPROVE","actor":"TEXT","reason":"TEXT"}`},
	{"run.tool_call_completed", `{"tool_call_id":"t1","ok":false,"exit_code":2,"duration_ms":1500,"summary":"TEXT"}`},
	{"run.human_input_requested", `{"hitl_id":"h2","details":{"question":"TEXT"}}`},
	{"policy.denied", `{"rule":"TEXT","tool":"TEXT","detail":"TEXT"}`},
	{"run.log", `{"level":"warn","message":"TEXT"}`},
	{"run.log", `{"level":"debug","message":"not told"}`},
	{"run.usage_recorded", `{"step_id":"s","usage":{"input_tokens":3,"output_tokens":4}}`},
	{"run.failed", `{"code":1,"message":"TEXT"}`},
	{"session.updated", `{"status":"SESSION_STATUS_PAUSED","pause_reason":"zero_balance"}`},
	{"session.updated", `{"status":"SESSION_STATUS_READY"}`},
	{"session.updated", `{"status":"SESSION_STATUS_DESTROYING"}`},
	{"run.log", `{"level":"info","message":"TEXT","fields":{"grant_id":"g1"}}`},
	{"session.updated", `{"status":"SESSION_STATUS_DESTROYED"}`},
}

func written(t interface{ Fatal(...any) }, write func(w *strings.Builder) error) string {
	var b strings.Builder
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func markdown(t interface{ Fatal(...any) }, d *Document) string {
	return written(t, func(w *strings.Builder) error { return d.Markdown(w) })
}

func rendered(t interface{ Fatal(...any) }, d *Document) string {
	return written(t, func(w *strings.Builder) error { return d.HTML(w) })
}

// TestMarkdown compares with testdata/life.md.
func TestMarkdown(t *testing.T) {
	got := markdown(t, document(t, life, "a `b` <i>\n\n```sh\nx <y>\n```\nand ![c](http://d)"))
	path := filepath.Join("testdata", "life.md")
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("UPDATE=1 writes what is printed now:\n%s", got)
	}
}

// TestPage looks for what a person has to find, and for nothing from elsewhere.
func TestPage(t *testing.T) {
	got := rendered(t, document(t, life, "some words"))
	for _, want := range []string{
		"<title>Transcript of hello</title>", `<div class="text">some words</div>`, "<summary>Output</summary><pre>some words</pre>",
		"<summary>Thoughts</summary>", `<span class="outcome">exit code 2 after 1.5 s</span>`,
		"<li>left for later by some words", "<li>approved by some words", "<li>not answered</li>", "Run failed after 13.0 s, 3 tokens in, 4 out: some words",
		"Session paused (zero balance)", "Session resumed", "Session removed", "denied by policy: some words some words (some words)",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in the page", want)
		}
	}
	if strings.Contains(got, "not told") {
		t.Error("a debug message is in the page")
	}
	if outside := regexp.MustCompile(`(?i)src=|href=|url\(|@import|<script|<link|https?:`).FindString(got); outside != "" {
		t.Errorf("the page needs something: %s", outside)
	}
}

// TestDropped says how much of a trimmed history is missing, and where.
func TestDropped(t *testing.T) {
	d := New(client.Session{Name: "hello"}, "ready", start)
	for i, kind := range []string{"run.tool_call_started", "run.tool_call_completed", "run.token_delta", "run.token_delta"} {
		d.Read(client.Event{Type: kind, RunID: "run_1", Data: json.RawMessage(`{"tool_call_id":"t"}`), TruncatedBytes: int64(10 * (i + 1))})
	}
	if d.Dropped != 100 || d.Entries[0].Dropped != 30 || d.Entries[1].Dropped != 70 {
		t.Errorf("%d bytes dropped, of them %d and %d", d.Dropped, d.Entries[0].Dropped, d.Entries[1].Dropped)
	}
	for _, text := range []string{markdown(t, d), rendered(t, d)} {
		for _, n := range []int{30, 70} {
			if !strings.Contains(text, fmt.Sprint(n, " bytes dropped")) {
				t.Errorf("%d bytes that are missing are not in\n%s", n, text)
			}
		}
	}
}

var tag = regexp.MustCompile(`<[^>]*>`)

// Whatever anybody writes, an HTML page has the same elements; and Markdown, read
// by a reader that lets all HTML through, has no element that fetches or runs
// anything, and folds as many things as it would without.
func TestNothingWrittenIsMarkup(t *testing.T) {
	plainPage := tag.FindAllString(rendered(t, document(t, life, "x")), -1)
	pieces := []string{
		"<img src=http://e/x>", "<script>e</script>", "![a](http://e/y)", "[![a](http://e/z)](b)", "</details>", "<details>", "<!--", "-->", "]]>", "<?php",
		"```", "````", "~~~", "`", "``", "    ", "\t", "  ", "- ", "1. ", "> ", "# ", "\\", "\n", "\n\n", "\r\n", "\r", "a", "é", "\u2028", "&lt;", "![", "](", "[a]: http://e", "\"", "'", "|", "<a", "=", ">",
	}
	reader := goldmark.New(goldmark.WithRendererOptions(html.WithUnsafe()))
	rapid.Check(t, func(r *rapid.T) {
		text := "x" + strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 30).Draw(r, "text"), "")
		d := document(r, life, text)
		if tags := tag.FindAllString(rendered(r, d), -1); !slices.Equal(tags, plainPage) {
			r.Fatalf("%q changes the elements of the page to %q", text, tags)
		}
		var shown strings.Builder
		if err := reader.Convert([]byte(markdown(r, d)), &shown); err != nil {
			r.Fatal(err)
		}
		var folds int
		for _, element := range tag.FindAllString(shown.String(), -1) {
			switch {
			case element == "<details>":
				folds++
			case element == "</details>":
				folds--
			case regexp.MustCompile(`^(?i)<(img|script|!|\?)`).MatchString(element):
				r.Fatalf("%q makes %s of\n%s\nin\n%s", text, element, markdown(r, d), shown.String())
			}
		}
		if folds != 0 {
			r.Fatalf("%q leaves %d folds open in\n%s", text, folds, markdown(r, d))
		}
	})
}
