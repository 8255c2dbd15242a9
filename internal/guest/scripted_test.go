package guest_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"paddock/internal/event"
	"paddock/internal/guestapi"
)

// scriptedWord as the first argument makes this test binary an agent that plays
// a script: a JSON object from a method to the lines that it answers with. In a
// line, $ID is the id of the request and $PARAMS what it says.
const scriptedWord = "scripted-agent"

// playScript is the scripted agent. The methods of the start have answers of
// their own; answers to requests of its own come in as method "answer".
func playScript(file string) {
	script := map[string][]string{
		"initialize":  {`{"id":$ID,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}}`},
		"session/new": {`{"id":$ID,"result":{"sessionId":"s1"}}`},
	}
	b, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(b, &script)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params json.RawMessage
		}
		_ = json.Unmarshal(lines.Bytes(), &m)
		if m.Method == "" {
			m.Method = "answer"
			// What we were answered, as text that the test can read.
			said, _ := json.Marshal(lines.Text())
			fmt.Println(chunk(string(said)))
		}
		for _, line := range script[m.Method] {
			if line == "EXIT" {
				os.Exit(5)
			}
			fmt.Println(strings.NewReplacer("$ID", string(m.ID), "$PARAMS", string(m.Params)).Replace(line))
		}
	}
}

// chunk is a piece of text, given as JSON.
func chunk(text string) string {
	return updated(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":` + text + `}}`)
}

func updated(update string) string {
	return `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":` + update + `}}`
}

const endTurn = `{"id":$ID,"result":{"stopReason":"end_turn"}}`

// scripted sets the machine up for an agent that plays a script.
func (m *machine) scripted(script map[string][]string) *machine {
	m.t.Helper()
	m.custom(m.script(script)...)
	return m
}

// script gives the command of an agent that plays a script.
func (m *machine) script(script map[string][]string) []string {
	m.t.Helper()
	b, err := json.Marshal(script)
	if err != nil {
		m.t.Fatal(err)
	}
	file := filepath.Join(filepath.Dir(m.workspace), "script")
	if err := os.WriteFile(file, b, 0o644); err != nil {
		m.t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		m.t.Fatal(err)
	}
	return []string{self, scriptedWord, file}
}

func TestUnknownFramesAreKept(t *testing.T) {
	m := newMachine(t).scripted(map[string][]string{"session/prompt": {
		updated(`{"sessionUpdate":"telepathy","thought":[1,2]}`),
		updated(`{"sessionUpdate":"agent_message_chunk","content":{"type":"image","data":"x"}}`),
		updated(`{"sessionUpdate":7}`),
		`{"method":"_vendor/news","params":{"x":1}}`,
		`{"id":"q1","method":"fs/read_text_file","params":{"path":"/etc/passwd"}}`,
		`Warning: this is no JSON`,
		`{"id":99,"result":{}}`,
		`{}`,
		chunk(`"done"`),
		endTurn,
	}})
	run := m.prompt("go")
	if end := m.end(run); end.Outcome != guestapi.EndCompleted || !strings.HasSuffix(end.Text, "done") {
		t.Fatalf("%+v", end)
	}
	for _, raw := range []string{`"telepathy"`, `"image"`, `"sessionUpdate":7`, `_vendor/news`, `fs/read_text_file`, `this is no JSON`, `"id":99`} {
		if !m.logged(raw) {
			t.Errorf("no log entry keeps %s in\n%s", raw, m.history())
		}
	}
	// The agent reads our refusal after the turn; what it says of it is no part of it.
	m.await("the refusal", func() bool { return m.loggedLocked("-32601") })
}

// logged says whether a log entry keeps a native frame that has text in it.
func (m *machine) logged(text string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.loggedLocked(text)
}

func (m *machine) loggedLocked(text string) bool {
	for _, r := range m.reports {
		if r.Kind == event.RunLog && strings.Contains(string(r.SourceRaw), text) {
			return true
		}
	}
	return false
}

func TestAskWithoutToolCall(t *testing.T) {
	m := newMachine(t).scripted(map[string][]string{
		"session/prompt": {`{"id":"p","method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"t1","kind":"execute","title":"rm -rf x"},` +
			`"options":[{"optionId":"always","kind":"allow_always"},{"optionId":"no","kind":"reject_once"}]}}`},
		"answer": {`{"id":2,"result":{}}`, `{"id":3,"result":{"stopReason":"cancelled"}}`}, // the prompt is the third call
	})
	run := m.prompt("go")
	ask := m.ask(run)
	if ask.Action != event.ActionBash || ask.Details.Command != "rm -rf x" || ask.ToolCallID != "t1" {
		t.Errorf("%+v", ask)
	}
	m.answer(ask.Key, guestapi.Answer{Decision: guestapi.Deny})
	end := m.end(run)
	if end.Outcome != guestapi.EndCompleted || end.StopReason != "cancelled" || !strings.Contains(end.Text, `"optionId":"no"`) {
		t.Errorf("a turn that ends after a no is complete: %+v", end)
	}
	var started event.ToolStarted
	var completed event.ToolCompleted
	if !m.find(run, guestapi.ReportEvent, event.ToolCallStarted, &started) || !m.find(run, guestapi.ReportEvent, event.ToolCallCompleted, &completed) ||
		started.ToolCallID != "t1" || completed.ToolCallID != "t1" || completed.OK {
		t.Errorf("%+v %+v", started, completed)
	}
}

func TestUsageAndCost(t *testing.T) {
	m := newMachine(t).scripted(map[string][]string{"session/prompt": {
		updated(`{"sessionUpdate":"usage_update","used":1200,"size":32000,"cost":{"amount":0.25,"currency":"USD"}}`), endTurn,
	}})
	if end := m.turn("go"); end.TokensIn != 1200 || end.CostMicros != 250_000 {
		t.Errorf("%+v", end)
	}
	var cost event.Cost
	m.mu.Lock()
	found := m.find(m.lastRun(), guestapi.ReportEvent, event.CostAccrued, &cost)
	m.mu.Unlock()
	if !found || cost.RunningTotalMicros != 250_000 || cost.DeltaMicros != 250_000 {
		t.Errorf("%+v", cost)
	}
	if end := m.turn("go"); end.CostMicros != 0 { // the total did not move
		t.Errorf("%+v", end)
	}
}

func TestErrorsOfTheModel(t *testing.T) {
	m := newMachine(t).scripted(map[string][]string{"session/prompt": {
		updated(`{"sessionUpdate":"tool_call","toolCallId":"t","title":"x"}`),
		`{"id":$ID,"error":{"code":-32000,"message":"Authentication required"}}`,
	}})
	if end := m.turn("go"); end.Outcome != guestapi.EndFailed || end.Code != event.ModelError || end.Message != "Authentication required" {
		t.Errorf("%+v", end)
	}
}

func TestHugeFramesAreCut(t *testing.T) {
	big := strings.Repeat("x", 3<<20)
	m := newMachine(t).scripted(map[string][]string{"session/prompt": {
		updated(`{"sessionUpdate":"tool_call","toolCallId":"t","title":"x","rawInput":{"content":"` + big + `"}}`),
		updated(`{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"completed","rawOutput":"` + big + `"}`),
		chunk(`"` + big + `"`),
		endTurn,
	}})
	run := m.prompt("go")
	if end := m.end(run); end.Outcome != guestapi.EndCompleted || len(end.Text) != 64<<10 {
		t.Errorf("%s, %d bytes", end.Outcome, len(end.Text))
	}
	if n := len(m.text(run)); n != len(big) {
		t.Errorf("%d bytes of text of %d", n, len(big))
	}
	var started event.ToolStarted
	m.find(run, guestapi.ReportEvent, event.ToolCallStarted, &started)
	if !strings.Contains(string(started.Input), `"truncated":true`) {
		t.Errorf("input %.100s", started.Input)
	}
}

func TestConversationIsLoadedOrItsLossIsSaid(t *testing.T) {
	replay := updated(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"the past"}}`)
	for name, c := range map[string]struct {
		load []string
		lost bool
	}{
		"loaded":  {[]string{replay, `{"id":$ID,"result":{}}`}, false},
		"unknown": {[]string{`{"id":$ID,"error":{"code":-32603,"message":"no such session"}}`}, true},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t).scripted(map[string][]string{"session/load": c.load, "session/prompt": {"EXIT"}})
			if end := m.turn("one"); end.Message != "agent exited with code 5" {
				t.Errorf("%+v", end)
			}
			run := m.prompt("two")
			m.end(run)
			if said := m.text(run); said != "" {
				t.Errorf("the past was told as news: %q", said)
			}
			m.mu.Lock()
			defer m.mu.Unlock()
			if lost := strings.Contains(m.messages(), "could not restore the conversation: no such session"); lost != c.lost {
				t.Errorf("lost %v:\n%s", lost, m.messages())
			}
		})
	}
}

// messages are the texts of all log entries. Locked.
func (m *machine) messages() string {
	var b strings.Builder
	for _, r := range m.reports {
		var l event.Log
		if r.Kind == event.RunLog && json.Unmarshal(r.Data, &l) == nil {
			fmt.Fprintln(&b, l.Message)
		}
	}
	return b.String()
}

// An agent that hears nothing is killed: the end of the run comes all the same.
func TestCancelOfADeafAgent(t *testing.T) {
	m := newMachine(t).scripted(map[string][]string{"session/prompt": {chunk(`"begun"`)}})
	run := m.prompt("go")
	m.await("a piece", func() bool { return m.find(run, guestapi.ReportEvent, event.TokenDelta, &event.Delta{}) })
	end, took := m.cancel(run)
	if end.Outcome != guestapi.EndCancelled || took > 10*time.Second {
		t.Errorf("%+v after %v", end, took)
	}
}

func TestStderrIsLoggedWithinBounds(t *testing.T) {
	m := newMachine(t)
	m.custom("sh", "-c", "for i in $(seq 1000); do echo line $i >&2; done; exec "+demoAgent)
	m.turn("hello")
	m.mu.Lock()
	defer m.mu.Unlock()
	said := m.messages()
	if !strings.Contains(said, "line 1\n") || strings.Contains(said, "line 900\n") || strings.Count(said, "more of it is not logged") == 0 {
		t.Errorf("%.2000s", said)
	}
}

// What an agent says of its troubles in the text of its answer is told as such.
func TestTroublesInText(t *testing.T) {
	const name, used = `{"id":$ID,"result":{"protocolVersion":1,"agentInfo":{"name":"Copilot"}}}`, `{"id":$ID,"result":{"stopReason":"end_turn","usage":{"inputTokens":3,"outputTokens":1}}}`
	retry, wrong := chunk(`"Info: Request failed. Retrying..."`), chunk(`"Error: status 529 from the model"`)
	for _, c := range []struct {
		name, initialize string
		said             []string
		outcome          guestapi.EndOutcome
		code             event.FailureCode
		text             string
	}{
		{"an error at the end", name, []string{retry, wrong, endTurn}, guestapi.EndFailed, event.ModelError, "status 529 from the model"},
		{"a time-out", name, []string{chunk(`"Error: model request timed out"`), endTurn}, guestapi.EndFailed, event.ModelTimeout, "model request timed out"},
		{"an answer follows", name, []string{wrong, chunk(`"but done"`), endTurn}, guestapi.EndCompleted, 0, "Error: status 529 from the modelbut done"},
		{"the model said so", name, []string{wrong, used}, guestapi.EndCompleted, 0, "Error: status 529 from the model"},
		{"a notice", name, []string{retry, chunk(`"Info: /workspace/a"`), chunk(`"Info: fine"`), used}, guestapi.EndCompleted, 0, "Info: fine"},
		{"another agent", `{"id":$ID,"result":{"protocolVersion":1}}`, []string{retry, wrong, endTurn}, guestapi.EndCompleted, 0, "Info: Request failed. Retrying...Error: status 529 from the model"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMachine(t).scripted(map[string][]string{"initialize": {c.initialize}, "session/prompt": c.said})
			end := m.turn("go")
			if end.Outcome != c.outcome || end.Code != c.code || end.Text+end.Message != c.text {
				t.Errorf("%+v", end)
			}
		})
	}
}

// A session is put into the mode in which its agent asks, after it was made and
// after it was loaded, unless it is in it; an agent that cannot is not used.
func TestMode(t *testing.T) {
	m := newMachine(t)
	argv := m.script(map[string][]string{
		"initialize":       {`{"id":$ID,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true},"authMethods":[{"id":"key"}]}}`},
		"authenticate":     {`{"id":$ID,"result":{}}`, chunk(`"auth $PARAMS"`)},
		"session/new":      {`{"id":$ID,"result":{"sessionId":"s1","modes":{"currentModeId":"lax"}}}`},
		"session/load":     {`{"id":$ID,"result":{"modes":{"currentModeId":"lax"}}}`},
		"session/set_mode": {updated(`{"sessionUpdate":"mode_was_set","to":$PARAMS}`), `{"id":$ID,"result":{}}`},
		"session/prompt":   {"EXIT"},
	})
	config := guestapi.Config{Session: "s", Agent: guestapi.Agent{Adapter: "acp", Argv: argv, Dir: m.workspace, Mode: "strict", Auth: "key", Env: map[string]string{"OF_THE_AGENT": "1"}}}
	if err := m.guest().Configure(m.ctx(), config); err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 2; n++ {
		if end := m.turn("go"); end.Message != "agent exited with code 5" {
			t.Fatalf("%+v", end)
		}
		if set := strings.Count(m.history(), "mode_was_set"); set != n {
			t.Errorf("the mode was set %d times in %d starts\n%s", set, n, m.history())
		}
	}
}
