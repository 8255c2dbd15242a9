package chat

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"paddock/client"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// tell makes a history of lines "run type {data}".
func tell(lines ...string) []client.Event {
	var history []client.Event
	for i, line := range lines {
		run, rest, _ := strings.Cut(line, " ")
		kind, data, _ := strings.Cut(rest, " ")
		if data == "" {
			data = "{}"
		}
		if run == "-" {
			run = ""
		}
		history = append(history, client.Event{
			EventID: fmt.Sprintf("evt_%04d", i+1), Seq: int64(i + 1), Timestamp: noon.Add(time.Duration(i) * time.Second),
			RunID: run, Type: kind, Data: json.RawMessage(data),
		})
	}
	return history
}

func hear(history []client.Event) *Conversation {
	c := New(client.Session{SessionID: "sess_1", Name: "hello", Adapter: "demo", Status: client.SessionReady})
	for _, e := range history {
		c.Apply(e)
	}
	return c
}

// sketch is a conversation in words.
func sketch(c *Conversation) string {
	var b strings.Builder
	for _, i := range c.Items {
		fmt.Fprintf(&b, "%s", i.Kind)
		if i.Grim {
			b.WriteString("!")
		}
		if i.Tool != nil {
			fmt.Fprintf(&b, " %s %q %s %q", i.Tool.Name, i.Tool.Gist, i.Tool.State, i.Tool.Output)
		}
		if i.Text != "" {
			fmt.Fprintf(&b, " %q", i.Text)
		}
		b.WriteString("\n")
	}
	for _, a := range c.Asks {
		fmt.Fprintf(&b, "waits %s later=%v\n", a.ID, a.Later)
	}
	for _, q := range c.Queue {
		fmt.Fprintf(&b, "queued %s %q\n", q.Run, q.Text)
	}
	if c.Run != nil {
		fmt.Fprintf(&b, "works on %s\n", c.Run.ID)
	}
	return b.String()
}

func TestConversation(t *testing.T) {
	for name, c := range map[string]struct {
		history []client.Event
		want    string
	}{
		"a turn in pieces": {tell(
			`a run.started {"text":"hi"}`, `a run.token_delta {"text":"hmm","is_reasoning":true}`,
			`a run.token_delta {"text":"go"}`, `a run.token_delta {"text":"od"}`,
			`a run.completed {"text":"good"}`,
		), "prompt \"hi\"\nthought \"hmm\"\nanswer \"good\"\nend\n"},
		"an answer only at the end": {tell(`a run.started {"text":"hi"}`, `a run.completed {"text":"good"}`),
			"prompt \"hi\"\nanswer \"good\"\nend\n"},
		"an escape sequence over pieces": {tell(`a run.token_delta {"text":"a\u001b]52;c;"}`, `a run.token_delta {"text":"eA==\u0007b"}`),
			"answer \"ab\"\nworks on a\n"},
		"tools": {tell(
			`a run.tool_call_started {"tool_call_id":"1","name":"shell","input":{"command":"ls\u001b[8m -la"}}`,
			`a run.tool_call_completed {"tool_call_id":"1","ok":true,"summary":"x\u001b[2Jy\n"}`,
			`a run.tool_call_started {"tool_call_id":"2","name":"write\u001b[1m","input":{"path":"/a","content":"b"}}`,
			`a run.tool_call_completed {"tool_call_id":"2","ok":false}`,
			`a run.tool_call_started {"tool_call_id":"3","name":"shell","input":{"command":["false"]}}`,
			`a run.tool_call_completed {"tool_call_id":"3","ok":true,"exit_code":1}`,
			`a run.tool_call_started {"tool_call_id":"4","name":"odd","input":{"n":1}}`,
			`a run.failed {"message":"no more"}`,
		), "call shell \"ls␛[8m -la\" done \"xy\"\ncall write \"/a\" failed \"\"\ncall shell \"false\" failed \"\"\n" +
			"call odd \"{\\\"n\\\":1}\" stopped \"\"\nend! \"no more\"\n"},
		"approvals, first in first out": {tell(
			`a run.tool_call_started {"tool_call_id":"1","name":"shell"}`,
			`a run.human_input_requested {"hitl_id":"h1","tool_call_id":"1","details":{"command":"ls"}}`,
			`a run.human_input_requested {"hitl_id":"h2","details":{"question":"which?"}}`,
			`a run.human_input_requested {"hitl_id":"h3","details":{"title":"go"}}`,
			`a run.human_input_received {"hitl_id":"h1","outcome":"HITL_OUTCOME_DEFER"}`,
			`a run.human_input_received {"hitl_id":"h2","outcome":"HITL_OUTCOME_APPROVE","actor":"ann"}`,
		), "call shell \"\" asks \"\"\nnote \"asks: which?\"\nnote \"answered by ann\"\nwaits h3 later=false\nwaits h1 later=true\nworks on a\n"},
		"rejected and denied": {tell(
			`a run.tool_call_started {"tool_call_id":"1","name":"shell"}`,
			`a run.human_input_requested {"hitl_id":"h1","tool_call_id":"1","details":{"command":"ls"}}`,
			`a run.human_input_received {"hitl_id":"h1","outcome":"HITL_OUTCOME_REJECT","reason":"no"}`,
			`a run.tool_call_completed {"tool_call_id":"1","ok":false,"summary":"permission denied"}`,
			`a run.tool_call_started {"tool_call_id":"2","name":"shell"}`,
			`a policy.denied {"tool":"shell","rule":"never"}`,
			`a run.tool_call_completed {"tool_call_id":"2","ok":false}`,
			`a policy.denied {"tool":"shell","detail":"rm","rule":"never"}`,
		), "call shell \"\" rejected \"permission denied\"\ncall shell \"\" denied \"\"\nnote! \"denied: shell rm (never)\"\nworks on a\n"},
		"allowed by a grant": {tell(
			`a run.tool_call_started {"tool_call_id":"1","name":"shell"}`,
			`a run.log {"level":"info","message":"allowed by g1: shell ls; ann approved it","fields":{"grant_id":"g1"}}`,
			`a run.log {"level":"info","message":"not told"}`,
			`a run.tool_call_completed {"tool_call_id":"1","ok":true}`,
		), "call shell \"\" done \"\"\nnote \"allowed by g1: shell ls; ann approved it\"\nworks on a\n"},
		"the end of a run ends its questions": {tell(
			`a run.tool_call_started {"tool_call_id":"1","name":"shell"}`,
			`a run.human_input_requested {"hitl_id":"h1","tool_call_id":"1","details":{"command":"ls"}}`,
			`a run.failed {"cancelled":true,"message":"cancelled by ann"}`,
		), "call shell \"\" stopped \"\"\nend \"cancelled by ann\"\n"},
		"the session": {tell(
			`- session.updated {"status":"SESSION_STATUS_READY"}`,
			`- session.updated {"status":"SESSION_STATUS_PAUSED","pause_reason":"zero_balance"}`,
			`- session.updated {"status":"SESSION_STATUS_READY"}`,
			`- run.log {"level":"info","message":"quiet"}`, `- run.log {"level":"warn","message":"loud"}`,
			`- session.updated {"status":"SESSION_STATUS_FAILED","message":"lost"}`,
		), "note \"paused (zero balance)\"\nnote \"goes on\"\nnote! \"loud\"\nnote! \"the session failed: lost\"\n"},
		"a queued prompt is cancelled": {tell(`a run.started {"text":"hi"}`, `b run.failed {"cancelled":true}`),
			"prompt \"hi\"\nnote \"a waiting prompt was cancelled\"\nworks on a\n"},
		"what cannot be read": {tell(`a run.started []`, `a run.later {"x":1}`, `a run.tool_call_completed "x"`),
			"prompt\ncall  \"\" failed \"\"\nworks on a\n"},
	} {
		if got := sketch(hear(c.history)); got != c.want {
			t.Errorf("%s: got\n%swant\n%s", name, got, c.want)
		}
	}
}

func TestQueue(t *testing.T) {
	c := hear(tell(`a run.started {"text":"hi"}`))
	c.Sent("b", "next")
	c.Sent("a", "hi") // it has begun before the answer came
	c.SetRuns([]client.Run{{RunID: "c", State: client.RunQueued, Text: "then\x1b[1m"}, {RunID: "b", State: client.RunQueued, Text: "next"}, {RunID: "a", State: client.RunQueued}})
	if got, want := fmt.Sprint(c.Queue), "[{b next} {c then}]"; got != want {
		t.Errorf("the queue is %s, want %s", got, want)
	}
	before := c.Changes
	c.Apply(client.Event{Seq: 2, RunID: "b", Type: "run.started"})
	if len(c.Queue) != 1 || c.Changes == before {
		t.Errorf("the queue is %v after its first began, changes %d → %d", c.Queue, before, c.Changes)
	}
}

func TestApprovalsOfTheList(t *testing.T) {
	c := hear(tell(`a run.human_input_requested {"hitl_id":"h1","details":{}}`, `a run.human_input_received {"hitl_id":"h1","outcome":"HITL_OUTCOME_APPROVE"}`))
	c.SetApprovals([]client.Approval{{RequestID: "h1", RunID: "a"}, {RequestID: "h2", RunID: "a"}, {RequestID: "h2", RunID: "a"}})
	if len(c.Asks) != 1 || c.Asks[0].ID != "h2" {
		t.Errorf("what waits is %v", c.Asks)
	}
	c.Before(nil)
	if len(c.Asks) != 1 {
		t.Errorf("after a look at the past %v", c.Asks)
	}
}

func TestTurnCounts(t *testing.T) {
	c := hear(tell(
		`a run.started {}`, `a run.usage_recorded {"step_id":"1","model_id":"m","usage":{"input_tokens":5,"output_tokens":2}}`,
		`a run.usage_recorded {"step_id":"1","usage":{"input_tokens":5,"output_tokens":2}}`,
		`a run.usage_recorded {"step_id":"2","usage":{"input_tokens":1,"output_tokens":1}}`, `a run.cost_accrued {"running_total_micros":70}`,
	))
	if r := c.Run; r.In != 6 || r.Out != 3 || r.CostMicros != 70 || c.Model != "m" {
		t.Errorf("%+v, model %q", r, c.Model)
	}
	c.Apply(client.Event{Seq: 6, RunID: "a", Type: "run.completed", Data: json.RawMessage(`{"total_tokens_in":9}`), Timestamp: noon.Add(time.Minute)})
	if r := c.Last; c.Run != nil || r.In != 9 || r.Out != 3 || r.Ended.Sub(r.Started) != time.Minute {
		t.Errorf("%+v", r)
	}
}

// pieces are what random histories are made of.
var pieces = []string{
	"run.started {\"text\":\"hi\"}", "run.token_delta {\"text\":\"a\\u001b[\"}", "run.token_delta {\"text\":\"1mb\"}",
	"run.token_delta {\"text\":\"hm\",\"is_reasoning\":true}", "run.tool_call_started {\"tool_call_id\":\"1\",\"name\":\"x\"}",
	"run.tool_call_completed {\"tool_call_id\":\"1\",\"ok\":true}", "run.human_input_requested {\"hitl_id\":\"h1\",\"tool_call_id\":\"1\",\"details\":{}}",
	"run.human_input_requested {\"hitl_id\":\"h2\",\"details\":{\"question\":\"?\"}}", "run.human_input_received {\"hitl_id\":\"h1\",\"outcome\":\"HITL_OUTCOME_REJECT\"}",
	"run.human_input_received {\"hitl_id\":\"h2\",\"outcome\":\"HITL_OUTCOME_DEFER\"}", "run.usage_recorded {\"usage\":{\"input_tokens\":1}}",
	"run.completed {\"text\":\"b\"}", "run.failed {\"message\":\"x\",\"cancelled\":true}", "run.failed {\"message\":\"x\",\"terminal\":true}",
	"policy.denied {\"rule\":\"r\"}", "run.log {\"level\":\"warn\",\"message\":\"w\"}",
	"session.updated {\"status\":\"SESSION_STATUS_PAUSED\"}", "session.updated {\"status\":\"SESSION_STATUS_READY\"}",
}

// However the stream is cut, and from wherever the history is read, it is the
// same conversation.
func TestAnyCutIsTheSameConversation(t *testing.T) {
	same := cmp.Options{
		cmpopts.IgnoreUnexported(Conversation{}, Run{}), cmpopts.EquateEmpty(),
		cmpopts.IgnoreFields(Item{}, "Version"), cmpopts.IgnoreFields(Conversation{}, "Changes"),
	}
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
			return rapid.SampledFrom([]string{"a", "a", "a", "b", "c"}).Draw(t, "run") + " " + rapid.SampledFrom(pieces).Draw(t, "event")
		}), 1, 40).Draw(t, "history")
		history := tell(lines...)
		whole := hear(history)

		// A reader that is cut gets some events again.
		cut := rapid.IntRange(0, len(history)).Draw(t, "cut")
		again := rapid.IntRange(0, cut).Draw(t, "again")
		twice := hear(history[:cut])
		for _, e := range history[again:] {
			twice.Apply(e)
		}
		if diff := cmp.Diff(whole, twice, same); diff != "" {
			t.Fatalf("cut at %d, again from %d:\n%s", cut, again, diff)
		}

		// A reader that comes late reads the past afterwards, a page at a time.
		late := hear(history[cut:])
		page := rapid.IntRange(0, cut).Draw(t, "page")
		late.Before(history[page:cut])
		late.Before(history[:page])
		late.Session = whole.Session // what is true now comes from the server
		if diff := cmp.Diff(whole, late, same); diff != "" {
			t.Fatalf("late at %d, page at %d:\n%s", cut, page, diff)
		}
	})
}
