package claude

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"paddock/internal/event"
	"paddock/internal/guest"
	"paddock/internal/guestapi"
)

// Frames as the agent sends them, written by hand.
const (
	starts = `{"type":"stream_event","parent_tool_use_id":null,"event":{"type":"message_start","message":{"id":"m1"}}}`
	done   = `{"type":"result","subtype":"success","is_error":false,"stop_reason":"end_turn","result":"fine","session_id":"s1","total_cost_usd":0.5,"modelUsage":{"m":{"inputTokens":3,"outputTokens":2}}}`
)

func delta(kind, text string) string {
	return `{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"` + kind + `_delta","` + kind + `":"` + text + `"}}}`
}

func hook(id, name, input string) string {
	return `{"type":"control_request","request_id":"` + id + `-hook","request":{"subtype":"hook_callback","input":{"hook_event_name":"PreToolUse","tool_name":"` + name + `","tool_input":` + input + `,"tool_use_id":"` + id + `"}}}`
}

func gave(id, text string, failed bool) string {
	e := "false"
	if failed {
		e = "true"
	}
	return `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"` + id + `","content":"` + text + `","is_error":` + e + `}]}}`
}

func TestTurnIsTranslated(t *testing.T) {
	p := newPeer(t, map[string][]string{
		"go": {
			`{"type":"system","subtype":"init","session_id":"s1","mcp_servers":[{"name":"good","status":"connected"},{"name":"bad","status":"failed"}]}`,
			starts, delta("thinking", "hm"), delta("text", "I "), delta("text", "go"),
			`{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"I go"}]}}`,
			`{"type":"stream_event","parent_tool_use_id":"t0","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"a subagent"}}}`,
			`{"type":"assistant","message":{"id":"m1","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}]}}`,
			hook("t1", "Bash", `{"command":"ls"}`),
		},
		"answer": {
			gave("t1", "Exit code 2\\nout", true),
			`{"type":"assistant","message":{"id":"m2","content":[{"type":"thinking","thinking":"so"},{"type":"text","text":"not streamed"}]}}`,
			`{"type":"system","subtype":"telepathy","x":1}`, `{"type":"vendor_news"}`, `no JSON`,
			done, delta("text", "too late"),
		},
	})
	end := p.play("go", p.allow)
	if end.Outcome != guestapi.EndCompleted || end.Text != "fine" || end.StopReason != "end_turn" || end.TokensIn != 3 || end.CostMicros != 500_000 {
		t.Errorf("%+v", end)
	}
	p.await("too late")
	got := p.sink.take()
	want := strings.Join([]string{
		`log warn the agent could not reach tool bad: failed | `,
		`delta true hm`, `delta false I `, `delta false go`,
		`started t1 Bash execute {"command":"ls"}`,
		`ask t1 Bash ls`,
		"completed t1 false Exit code 2\nout",
		`delta true so`, `delta false not streamed`,
		`log debug the agent sent system/telepathy | {"type":"system","subtype":"telepathy","x":1}`,
		`log debug the agent sent vendor_news | {"type":"vendor_news"}`,
		`log warn a line of the agent is no message: invalid character 'o' in literal null (expecting 'u') | no JSON`,
	}, "\n")
	if !strings.HasPrefix(got, want+"\n") {
		t.Error(cmp.Diff(want, got))
	}
	for _, part := range []string{"usage m 3 2", "cost 500000 of 500000"} {
		if !strings.Contains(got, part) {
			t.Errorf("no %q", part)
		}
	}
	if strings.Contains(got, "delta false too late") || strings.Contains(got, "delta false a subagent") {
		t.Error(got)
	}
	if end := p.play("go", p.allow); end.CostMicros != 0 || end.TokensIn != 0 {
		t.Errorf("the sums did not move, the turn has %+v", end)
	}
}

// What the agent is told of a call, by what was decided; questions of two kinds
// about one call are decided once.
func TestDecisionsReachTheAgent(t *testing.T) {
	said := `{"type":"assistant","message":{"id":"a","content":[{"type":"text","text":"$HEARD"}]}}`
	p := newPeer(t, map[string][]string{
		"one":   {hook("t1", "Write", `{"file_path":"/x"}`)},
		"again": {`{"type":"control_request","request_id":"can","request":{"subtype":"can_use_tool","tool_name":"Write","tool_use_id":"t1","input":{"a":1}}}`},
		"other": {`{"type":"control_request","request_id":"odd","request":{"subtype":"mcp_message"}}`},
		"bad":   {`{"type":"control_request","request_id":"bad","request":{"subtype":"hook_callback","input":{}}}`},
		"want":  {`{"type":"control_request","request_id":"form","request":{"subtype":"elicitation","message":"name?","requested_schema":{"type":"object"}}}`},
		"url":   {`{"type":"control_request","request_id":"url","request":{"subtype":"elicitation","mode":"url","message":"go there"}}`},
		"question": {
			hook("q1", question, `{}`),
			`{"type":"control_request","request_id":"q","request":{"subtype":"can_use_tool","tool_name":"AskUserQuestion","tool_use_id":"q1","input":{"questions":[{"question":"Which?","header":"W"}],"more":1}}}`,
		},
		"answer": {said, done},
	})
	decide := func(a guestapi.Answer) func(guestapi.Ask) { return func(q guestapi.Ask) { p.Answer(q.Key, a) } }
	allow, deny := guestapi.Answer{Decision: guestapi.Allow}, guestapi.Answer{Decision: guestapi.Deny, Reason: "not now"}
	edited := guestapi.Answer{Decision: guestapi.Allow, Input: json.RawMessage(`{"file_path":"/y"}`)}
	for _, c := range []struct {
		prompt string
		answer guestapi.Answer
		want   string // in what the agent heard
	}{
		{"one", allow, `"request_id":"t1-hook","response":{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}`},
		{"one", edited, `"updatedInput":{"file_path":"/y"}`},
		{"one", deny, `"permissionDecision":"deny","permissionDecisionReason":"not now"`},
		{"again", allow, `"behavior":"allow","updatedInput":{"a":1}`},
		{"again", deny, `"behavior":"deny","message":"not now"`},
		{"other", allow, `"subtype":"error","request_id":"odd"`},
		{"bad", allow, `"permissionDecision":"deny"`},
		{"want", guestapi.Answer{Decision: guestapi.Allow, Content: map[string]any{"name": "Ann"}}, `"action":"accept","content":{"name":"Ann"}`},
		{"url", allow, `"action":"decline"`},
	} {
		p.play(c.prompt, decide(c.answer))
		if heard := strings.ReplaceAll(p.sink.take(), `\"`, `"`); !strings.Contains(heard, c.want) {
			t.Errorf("%s: %s, want %s", c.prompt, heard, c.want)
		}
	}
}

func TestQuestionIsAForm(t *testing.T) {
	p := newPeer(t, map[string][]string{
		"go":     {`{"type":"control_request","request_id":"q","request":{"subtype":"can_use_tool","tool_name":"AskUserQuestion","tool_use_id":"q1","input":{"questions":[{"question":"Which?","header":"W"}],"more":1}}}`},
		"answer": {`{"type":"assistant","message":{"id":"a","content":[{"type":"text","text":"$HEARD"}]}}`, done},
	})
	var asked guestapi.Ask
	p.play("go", func(q guestapi.Ask) {
		asked = q
		p.Answer(q.Key, guestapi.Answer{Decision: guestapi.Allow, Content: map[string]any{"W": "this"}})
	})
	if asked.Details.Question != "Which?" || !strings.Contains(string(asked.Details.Schema), `"W"`) || asked.ToolCallID != "q1" {
		t.Errorf("%+v", asked)
	}
	if heard := strings.ReplaceAll(p.sink.take(), `\"`, `"`); !strings.Contains(heard, `"answers":{"Which?":"this"},"more":1,"questions":[`) {
		t.Error(heard)
	}
}

func TestTurnThatFails(t *testing.T) {
	for name, c := range map[string]struct {
		lines   []string
		code    event.FailureCode
		message string
	}{
		"model": {[]string{
			`{"type":"system","subtype":"api_retry","attempt":1,"max_retries":2,"retry_delay_ms":5,"error_status":429,"error":"rate_limit"}`,
			`{"type":"assistant","is_api_error_message":true,"message":{"id":"x","content":[{"type":"text","text":"API Error"}]}}`,
			`{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"terminal_reason":"api_error","result":"API Error: 429"}`,
		}, event.ModelError, "API Error: 429"},
		"key": {[]string{
			`{"type":"system","subtype":"api_retry","attempt":1,"max_retries":10,"error_status":401,"error":"authentication_failed"}`,
			`{"type":"system","subtype":"api_retry","attempt":2,"max_retries":10,"error_status":401,"error":"authentication_failed"}`,
		}, event.ModelError, "the model's server refuses the key: 401 Unauthorized (authentication_failed)"},
		"inside": {[]string{`{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["boom"]}`}, event.ToolError, "boom"},
		"dies":   {[]string{hook("t1", "Bash", `{"command":"ls"}`), "EXIT"}, event.Internal, "agent exited with code 5: alas"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPeer(t, map[string][]string{"go": c.lines})
			end := p.play("go", nil)
			if end.Outcome != guestapi.EndFailed || end.Code != c.code || end.Message != c.message {
				t.Errorf("%+v", end)
			}
			got := p.sink.take()
			if strings.Contains(got, "delta") {
				t.Errorf("the error was said as the agent's words: %s", got)
			}
			if name == "model" && !strings.Contains(got, "log warn the model did not answer (429 Too Many Requests); the agent tries again, 1 of 2") {
				t.Error(got)
			}
			if name == "dies" && !strings.Contains(got, "completed t1 false the turn ended before the call did") {
				t.Error(got)
			}
		})
	}
}

func TestCancel(t *testing.T) {
	for name, lines := range map[string][]string{"speaking": {starts, delta("text", "begun")}, "asking": {hook("t1", "Bash", `{"command":"ls"}`)}} {
		t.Run(name, func(t *testing.T) {
			p := newPeer(t, map[string][]string{"go": lines})
			ended := make(chan guestapi.End, 1)
			go func() { ended <- p.play("go", nil) }()
			p.await(map[string]string{"speaking": "begun", "asking": "ask t1"}[name])
			p.Cancel()
			p.Cancel()
			if end := <-ended; end.Outcome != guestapi.EndCancelled {
				t.Errorf("%+v", end)
			}
		})
	}
	p := newPeer(t, nil)
	p.Cancel() // without a turn
	p.Answer("unknown", guestapi.Answer{Decision: guestapi.Allow})
}

// A command of the agent's own has an end without a beginning.
func TestEndWithoutABeginning(t *testing.T) {
	local := `{"type":"assistant","message":{"id":"x","content":[{"type":"text","text":"cleared"}]}}`
	p := newPeer(t, map[string][]string{"not begun": {local, done}})
	if end := p.play("not begun", nil); end.Outcome != guestapi.EndCompleted || !strings.Contains(p.sink.take(), "delta false cleared") {
		t.Errorf("%+v", end)
	}
}

// The end of a turn that the agent began by itself is not that of ours.
func TestEndOfAnotherTurn(t *testing.T) {
	p := newPeer(t, map[string][]string{
		"initialize": {starts, `{"type":"control_response","response":{"subtype":"success","request_id":"$ID","response":{}}}`},
		"not begun":  {`{"type":"result","result":"of the other"}`, `{"type":"user","isReplay":true,"message":{}}`, done},
	})
	if end := p.play("not begun", nil); end.Text != "fine" {
		t.Errorf("%+v", end)
	}
}

// An agent that has died is started again with its conversation, and the loss of
// that is said; one that dies with every prompt fails the turn.
func TestResume(t *testing.T) {
	p := newPeer(t, map[string][]string{"go": {done}, "die": {"EXIT"}, "not begun": {"EXIT"}})
	if end := p.play("go", nil); end.Outcome != guestapi.EndCompleted {
		t.Fatalf("%+v", end)
	}
	if end := p.play("die", nil); end.Message != "agent exited with code 5: alas" {
		t.Fatalf("%+v", end)
	}
	p.sink.take()
	if end := p.play("go", nil); end.Outcome != guestapi.EndCompleted || end.CostMicros != 500_000 {
		t.Errorf("%+v", end)
	}
	if got := p.sink.take(); !strings.Contains(got, `"subtype":"resumed","session_id":"s1"`) || !strings.Contains(got, "cost 500000 of 1000000") {
		t.Error(got)
	}
	if end := p.play("not begun", nil); end.Code != event.Internal || end.Message != "agent exited with code 5: alas" {
		t.Errorf("%+v", end)
	}
	if n := strings.Count(p.sink.take(), `"resumed"`); n < 1 {
		t.Errorf("an agent that died before it took the prompt was started %d times again", n)
	}
}

func TestConversationThatIsLost(t *testing.T) {
	p := newPeer(t, map[string][]string{"go": {done}, "die": {"EXIT"}, "lost": {"s1"}})
	p.play("go", nil)
	p.play("die", nil)
	p.sink.take()
	if end := p.play("go", nil); end.Outcome != guestapi.EndCompleted {
		t.Errorf("%+v", end)
	}
	if got := p.sink.take(); !strings.Contains(got, "could not restore the conversation: agent exited with code 1: no such conversation") {
		t.Error(got)
	}
}

func TestAgentThatDoesNotStart(t *testing.T) {
	for answer, want := range map[string]string{
		"EXIT": "agent did not start: agent exited with code 5: alas",
		`{"type":"control_response","response":{"subtype":"error","request_id":"$ID","error":"too old"}}`: "agent did not start: agent refused what it was asked: too old",
	} {
		t.Run(want, func(t *testing.T) { // a process has one table of processes at a time
			p := newPeer(t, map[string][]string{"initialize": {answer}})
			if end := p.play("go", nil); end.Code != event.Internal || end.Message != want {
				t.Errorf("%+v", end)
			}
		})
	}
}

// Whatever the agent sends, a turn has one end and each call that began ends
// once.
func FuzzFrames(f *testing.F) {
	f.Add(strings.Join([]string{starts, delta("text", "x"), hook("t1", "Bash", `{"command":"ls"}`), gave("t1", "out", false), done}, "\n"))
	f.Add(`{"type":"control_request","request_id":"q","request":{"subtype":"can_use_tool","tool_name":"AskUserQuestion","tool_use_id":"q1","input":{"questions":[{"question":"Which?","options":[{}]}]}}}`)
	f.Add(`{"type":"assistant","message":{"content":"text"}}` + "\n" + `{"type":"result","modelUsage":{"m":{"inputTokens":-1}},"total_cost_usd":1e300}`)
	f.Fuzz(func(t *testing.T, lines string) {
		a := New(guestapi.Agent{Dir: t.TempDir()}, guest.Services{Log: func(event.Log, guest.Source) {}}).(*adapter)
		sink := &recorder{changed: make(chan struct{}, 1)}
		u := newTurn(sink)
		p := newProcess(a)
		u.Process, u.begun, a.turn = p, true, u
		for line := range strings.SplitSeq(lines, "\n") {
			if line = strings.TrimSpace(line); line != "" {
				p.Line([]byte(line))
			}
		}
		a.detach(u)
		u.say.finish("over")
		got := sink.take()
		for _, tool := range u.say.order {
			if !tool.done {
				t.Errorf("call %q never ended:\n%s", tool.id, got)
			}
		}
	})
}
