package codex

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"paddock/internal/event"
	"paddock/internal/guest/proc"
	"paddock/internal/guestapi"
)

var (
	allow = guestapi.Answer{Decision: guestapi.Allow}
	wait  = guestapi.Answer{Decision: guestapi.Wait}
)

func deny(why string) guestapi.Answer { return guestapi.Answer{Decision: guestapi.Deny, Reason: why} }

func nobody(q guestapi.Ask) []guestapi.Answer { panic("asked " + q.Details.Tool) }

// said asserts what the agent has said, in whatever lines.
func (s stage) said(want ...string) {
	s.Helper()
	s.sink.mu.Lock()
	text := s.sink.text.String()
	s.sink.text.Reset()
	s.sink.mu.Unlock()
	for _, w := range want {
		if !strings.Contains(text, w) {
			s.Errorf("no %q in\n%s", w, text)
		}
	}
}

func (s stage) reported(want ...string) {
	s.Helper()
	for _, w := range want {
		if !s.sink.has(w) {
			s.sink.mu.Lock()
			s.Errorf("no %q in\n%s", w, strings.Join(s.sink.lines, "\n"))
			s.sink.mu.Unlock()
		}
	}
}

func TestTurn(t *testing.T) {
	s := newStage(t)
	end := s.turn(`say hello
send {"method":"item/reasoning/summaryTextDelta","params":{"threadId":"THREAD","turnId":"TURN","itemId":"r","delta":"hm"}}
send {"method":"item/started","params":{"threadId":"THREAD","turnId":"TURN","item":{"type":"commandExecution","id":"c1","command":"/bin/bash -lc 'ls x'","status":"inProgress"}}}
send {"method":"item/completed","params":{"threadId":"THREAD","turnId":"TURN","item":{"type":"commandExecution","id":"c1","command":"/bin/bash -lc 'ls x'","status":"failed","aggregatedOutput":"no x\n","exitCode":2}}}
send {"method":"item/completed","params":{"threadId":"THREAD","turnId":"TURN","item":{"type":"fileChange","id":"f1","status":"completed","changes":[{"path":"/w/a","kind":{"type":"add"},"diff":"x\n"}]}}}
send {"method":"item/completed","params":{"threadId":"THREAD","turnId":"TURN","item":{"type":"mcpToolCall","id":"m1","server":"s","tool":"t","arguments":{"a":1},"status":"failed","error":{"message":"alas"}}}}
send {"method":"item/completed","params":{"threadId":"THREAD","turnId":"TURN","item":{"type":"agentMessage","id":"last","text":"done"}}}
send {"method":"item/completed","params":{"threadId":"other","turnId":"TURN","item":{"type":"commandExecution","id":"c9","status":"completed"}}}
send {"method":"item/completed","params":{"threadId":"THREAD","turnId":"earlier","item":{"type":"commandExecution","id":"c8","status":"completed"}}}
send {"method":"thread/tokenUsage/updated","params":{"threadId":"THREAD","turnId":"TURN","tokenUsage":{"total":{"inputTokens":105,"outputTokens":3},"last":{"inputTokens":5,"outputTokens":2,"cachedInputTokens":1}}}}
send {"method":"thread/tokenUsage/updated","params":{"threadId":"THREAD","turnId":"TURN","tokenUsage":{"total":{"inputTokens":105,"outputTokens":3},"last":{"inputTokens":5,"outputTokens":2,"cachedInputTokens":1}}}}
send {"method":"thread/tokenUsage/updated","params":{"threadId":"THREAD","turnId":"TURN","tokenUsage":{"total":{"inputTokens":111,"outputTokens":4},"last":{"inputTokens":6,"outputTokens":1}}}}
send {"method":"error","params":{"threadId":"THREAD","turnId":"TURN","willRetry":true,"error":{"message":"Reconnecting... 1/4","additionalDetails":"status 503"}}}
send {"method":"warning","params":{"threadId":"THREAD","message":"beware"}}`, nobody)
	if end.Outcome != guestapi.EndCompleted || end.Text != "done" || end.TokensIn != 11 || end.TokensOut != 3 {
		t.Errorf("%+v", end)
	}
	s.said("hello")
	s.reported("thinks hm", `started c1 Bash execute {"command":"ls x"}`, `completed c1 false 2 "no x\n"`, `completed f1 true - "add /w/a\nx\n"`,
		`started m1 mcp__s__t other {"a":1}`, `completed m1 false - "alas"`, `usage request-1 m {Input:5 Output:2 CachedInput:1 Reasoning:0}`,
		`usage request-2 m {Input:6`, "warn: the model did not answer, and is asked again: Reconnecting... 1/4: status 503", "warn: codex warns: beware")
	if s.sink.has("c9") || s.sink.has("c8") || s.sink.has("request-3") {
		t.Error(s.sink.lines)
	}
	if info, err := os.Stat(s.places.config + "/requirements.toml"); err != nil || info.Mode().Perm() != 0o644 {
		t.Error(info, err)
	}
}

// Every call comes before the policy; where a person decides it waits in Codex's
// own question, and the gate runs only what was allowed, once.
func TestCalls(t *testing.T) {
	s := newStage(t)
	answers := map[string][]guestapi.Answer{
		"ls": {allow}, "rm": {deny("by rule 1")}, "ask": {wait, allow}, "no": {wait, deny("")}, "why": {wait, deny("not now")},
		"edit": {wait, {Decision: guestapi.Allow, Input: []byte(`{"command":"ls -l"}`)}},
	}
	decide := func(q guestapi.Ask) []guestapi.Answer {
		if q.Action != event.ActionBash || q.Wait != guestapi.WaitElsewhere || !q.Details.Editable || q.Details.Kind != "execute" {
			t.Errorf("%+v", q)
		}
		if away := q.ToolCallID == "away"; away != (q.Details.Dir == "/etc") || away != strings.Contains(string(q.Details.Input), `"workdir":"/etc"`) {
			t.Errorf("%+v", q)
		}
		return answers[q.Details.Command]
	}
	end := s.turn(`hook c1 Bash {"command":"ls"}
hook c2 Bash {"command":"rm"}
hook c3 Bash {"command":"ask"}
hook c4 Bash {"command":"no"}
hook c5 Bash {"command":"why"}
hook c6 Bash {"command":"edit"}
hook c7 Bash {"command":"apply_patch <<'E'\n*** Begin Patch\n*** End Patch\nE"}
hook c9 collaborationspawn_agent {}
hook away Bash {"command":"ls"}
hook stranger Bash {"command":"ls"}
hook c8 request_user_input {}
gate guessed
ask item/commandExecution/requestApproval {"itemId":"c1"}
ask item/commandExecution/requestApproval {"itemId":"unknown"}
ask item/permissions/requestApproval {"itemId":"c1"}`, decide)
	if end.Outcome != guestapi.EndCompleted {
		t.Errorf("%+v", end)
	}
	s.said("c1 passes", "c2 denied: by rule 1", `c3 {"decision":"accept"}`, `c3 runs "ask" "" <nil>`, `c4 {"decision":"decline"}`,
		`c5 {"decision":"accept"}`, `c5 runs "" "not now" <nil>`, `c6 runs "ls -l" "" <nil>`, "c7 denied: "+patchCommand, "c9 denied: "+noOthers, "stranger denied: "+notOurs,
		"c8 passes", `gate: "" "nothing waits for that" <nil>`, `answered {"decision":"accept"}`, `answered {"decision":"decline"}`)
	s.reported(`started c1 Bash execute {"command":"ls"}`, `completed c2 false - "by rule 1"`, `completed c3 true 0 ""`,
		`completed c4 false - "it was rejected by a person"`, `completed c5 false - "not now"`)
}

// Calls of servers wait in Codex's question about them; edits and the like can
// wait nowhere.
func TestOtherCalls(t *testing.T) {
	s := newStage(t)
	end := s.turn(`hook m1 mcp__docs_x__find {"q":"a","n":1}
ask mcpServer/elicitation/request {"serverName":"docs-x","mode":"form","_meta":{"codex_approval_kind":"mcp_tool_call","tool_name":"find","tool_params":{"n":1,"q":"a"}}}
ask mcpServer/elicitation/request {"serverName":"docs-x","mode":"form","_meta":{"codex_approval_kind":"mcp_tool_call","tool_name":"find","tool_params":{"n":1,"q":"a"}}}
hook f1 apply_patch {"command":"*** Begin Patch\n*** Update File: /etc/x\n*** Move to: y\n*** End Patch"}
hook r1 read_mcp_resource {"server":"docs-x","uri":"u"}
ask mcpServer/elicitation/request {"serverName":"docs-x","mode":"form","message":"Who?","requestedSchema":{"type":"object"}}
ask mcpServer/elicitation/request {"serverName":"docs-x","mode":"url","url":"x"}
hook q1 request_user_input {}
ask item/tool/requestUserInput {"itemId":"q1","questions":[{"id":"colour","header":"Colour","question":"Which colour?","options":[{"label":"Red","description":"r"}]}]}`,
		func(q guestapi.Ask) []guestapi.Answer {
			switch {
			case q.Details.Tool == "mcp__docs-x__find":
				return []guestapi.Answer{wait, allow}
			case q.Details.Tool == patchTool && q.Action == event.ActionWriteOutside && strings.Join(q.Details.Paths, " ") == "/etc/x /workspace/y":
				return []guestapi.Answer{wait}
			case q.Details.Tool == "mcp__docs-x__read_mcp_resource" && q.Wait == guestapi.WaitNever:
				return []guestapi.Answer{allow}
			case q.Details.Question == "Who?":
				return []guestapi.Answer{{Decision: guestapi.Allow, Content: map[string]any{"name": "me"}}}
			case q.Details.Question == "Which colour?" && strings.Contains(string(q.Details.Schema), `"Colour":{"description":"Red: r","enum":["Red"]`):
				return []guestapi.Answer{{Decision: guestapi.Allow, Content: map[string]any{"Colour": "Red"}}}
			}
			t.Errorf("asked %+v", q)
			return []guestapi.Answer{deny("")}
		})
	if end.Outcome != guestapi.EndCompleted {
		t.Errorf("%+v", end)
	}
	s.said("m1 passes\nanswered {\"action\":\"accept\",\"content\":{}}\nanswered {\"action\":\"decline\",\"content\":null}", "f1 denied: "+byCommand, "r1 passes",
		"q1 passes", `answered {"action":"accept","content":{"name":"me"}}`, `answered {"action":"decline","content":null}`, `answered {"answers":{"colour":{"answers":["Red"]}}}`)
	s.reported("started q1 request_user_input", `completed q1 true - "a person answered"`)
}

func TestCancel(t *testing.T) {
	for name, script := range map[string]string{
		"running": "say here\nhang",
		"asking":  "hook c1 Bash {\"command\":\"ls\"}\nhang",
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			ended := make(chan guestapi.End, 1)
			go func() { ended <- s.Turn(t.Context(), guestapi.Prompt{Text: script}, s.sink) }()
			if name == "asking" {
				s.Answer((<-s.sink.asks).Key, wait)
			} else {
				for s.adapter.keeper.Running() == nil || s.adapter.turnOf(s.adapter.keeper.Running()) == nil {
					<-s.adapter.keeper.BringUp().Done
				}
			}
			s.Cancel()
			s.Cancel()
			if end := <-ended; end.Outcome != guestapi.EndCancelled {
				t.Errorf("%+v", end)
			}
			if end := s.turn("say again", nobody); end.Outcome != guestapi.EndCompleted {
				t.Errorf("%+v", end)
			}
		})
	}
}

func TestFailures(t *testing.T) {
	s := newStage(t)
	end := s.turn(`fail {"message":"exceeded retry limit, last status: 429","codexErrorInfo":{"responseTooManyFailedAttempts":{"httpStatusCode":429}}}`, nobody)
	if end.Outcome != guestapi.EndFailed || end.Code != event.ModelError || !strings.Contains(end.Message, "429") {
		t.Errorf("%+v", end)
	}
	end = s.turn("say x\ndie", nobody)
	if end.Outcome != guestapi.EndFailed || end.Code != event.Internal || !strings.Contains(end.Message, "exited with code 3") || !strings.Contains(end.Message, "alas") {
		t.Errorf("%+v", end)
	}
	s.reported("info: alas")
	// Between turns: the conversation is continued.
	if end := s.turn("say y", nobody); end.Outcome != guestapi.EndCompleted {
		t.Errorf("%+v", end)
	}
	if s.sink.has("could not restore") {
		t.Error(s.sink.lines)
	}
}

// A Codex that does not run the hook is not used.
func TestNoHookNoAgent(t *testing.T) {
	s := newStage(t, fakeNoHook+"=1")
	end := s.turn("say x", nobody)
	if end.Outcome != guestapi.EndFailed || !strings.Contains(end.Message, "this version of codex (9.9.9) does not run the hook") {
		t.Errorf("%+v", end)
	}
}

func TestStartErrors(t *testing.T) {
	s := newStage(t)
	s.services.Spawn = func([]string, string, [3]*os.File) (*proc.Process, error) { return nil, os.ErrNotExist }
	if end := s.turn("say x", nobody); end.Outcome != guestapi.EndFailed || end.Message != "agent did not start: file does not exist" {
		t.Errorf("%+v", end)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(s.places.config), "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	s.places.config = filepath.Join(filepath.Dir(s.places.config), "file", "etc")
	if end := s.turn("say x", nobody); end.Outcome != guestapi.EndFailed || !strings.Contains(end.Message, "make the folder of codex's settings") {
		t.Errorf("%+v", end)
	}
}
