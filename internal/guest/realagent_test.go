package guest_test

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"paddock/internal/event"
	"paddock/internal/fakemodel"
	"paddock/internal/guestapi"
)

// TestRealAgent plays turns with an agent that somebody else made, its model
// scripted. PADDOCK_TEST_ACP_AGENT is a JSON document {"argv": […], "env": {…}};
// in the values of env, $MODEL stands for the address of the model's server.
func TestRealAgent(t *testing.T) {
	text := os.Getenv("PADDOCK_TEST_ACP_AGENT")
	if text == "" {
		t.Skip("PADDOCK_TEST_ACP_AGENT names no agent")
	}
	model := httptest.NewServer(fakemodel.Handler())
	defer model.Close()
	var agent struct {
		Argv []string
		Env  map[string]string
	}
	if err := json.Unmarshal([]byte(text), &agent); err != nil {
		t.Fatal(err)
	}
	for name, value := range agent.Env {
		agent.Env[name] = strings.ReplaceAll(value, "$MODEL", model.URL)
	}
	m := newMachine(t)
	m.patience = 2 * time.Minute // some take long to start
	err := m.guest().Configure(m.ctx(), guestapi.Config{Session: "s", Env: agent.Env, Agent: guestapi.Agent{Adapter: "acp", Argv: agent.Argv, Dir: m.workspace}})
	if err != nil {
		t.Fatal(err)
	}
	if end := m.turn("hello there"); end.Outcome != guestapi.EndCompleted || !strings.Contains(end.Text, "reply 1: ") {
		t.Fatalf("%+v\n%s", end, m.history())
	}

	run := m.prompt("RUN: echo from the tool > proof.txt && echo it said so")
	for ended := false; !ended; {
		var end guestapi.End
		answered := map[string]bool{}
		m.await("ask or end", func() bool {
			var ask guestapi.Ask
			ended = m.find(run, guestapi.ReportEnd, "", &end)
			return ended || m.find(run, guestapi.ReportAsk, "", &ask) && !answered[ask.Key]
		})
		if !ended {
			ask := m.ask(run)
			if ask.Action != event.ActionBash || !strings.Contains(ask.Details.Command, "from the tool") {
				t.Errorf("ask %+v", ask)
			}
			answered[ask.Key] = true
			m.answer(ask.Key, allow)
		}
	}
	if b, err := os.ReadFile(filepath.Join(m.workspace, "proof.txt")); err != nil || string(b) != "from the tool\n" {
		t.Errorf("the tool did not run: %q %v\n%s", b, err, m.history())
	}
	if end := m.end(run); end.Outcome != guestapi.EndCompleted || !strings.Contains(end.Text, "it said so") {
		t.Errorf("%+v\n%s", end, m.history())
	}
	var started event.ToolStarted
	var completed event.ToolCompleted
	if !m.find(run, guestapi.ReportEvent, event.ToolCallStarted, &started) || !m.find(run, guestapi.ReportEvent, event.ToolCallCompleted, &completed) || started.ToolCallID != completed.ToolCallID || !completed.OK {
		t.Errorf("%+v %+v\n%s", started, completed, m.history())
	}

	run = m.prompt("SLOW: 100")
	m.await("a piece", func() bool { return m.find(run, guestapi.ReportEvent, event.TokenDelta, &event.Delta{}) })
	if end, took := m.cancel(run); end.Outcome != guestapi.EndCancelled {
		t.Errorf("%+v after %v", end, took)
	}
	// Killed between turns, and dead before the next one.
	m.exec("pkill -9 -f '[c]opilot|[o]pencode'; while pgrep -f '[c]opilot|[o]pencode'; do sleep 0.05; done")
	if end := m.turn("and again"); end.Outcome != guestapi.EndCompleted || strings.Contains(end.Text, "reply 1:") {
		t.Errorf("the conversation is lost: %+v\n%s", end, m.history())
	}
	t.Log(m.history())
}
