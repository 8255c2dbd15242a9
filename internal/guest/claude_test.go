package guest_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"paddock/internal/event"
	"paddock/internal/fakemodel"
	"paddock/internal/guest/proc"
	"paddock/internal/guestapi"
)

// realClaude is the program of Claude Code: where PADDOCK_TEST_CLAUDE says, or
// where the black-box tests have installed it for this user.
func realClaude(t testing.TB) string {
	t.Helper()
	if name := os.Getenv("PADDOCK_TEST_CLAUDE"); name != "" {
		return name
	}
	cache, err := os.UserCacheDir()
	if err == nil {
		found, _ := filepath.Glob(filepath.Join(cache, "paddock-test", "agents", "claude-code", "*", "bin", "claude-code"))
		if len(found) > 0 {
			return found[len(found)-1]
		}
	}
	t.Skip("Claude Code is not installed here: PADDOCK_TEST_CLAUDE names no program, and the black-box tests have not installed one")
	return ""
}

// claude sets the machine up for the real agent with a scripted model, which
// tells heard what it is asked.
func (m *machine) claude(agent guestapi.Agent, heard func(body []byte)) *machine {
	m.t.Helper()
	play := fakemodel.Handler()
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the agent is gone
		}
		heard(body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		play.ServeHTTP(w, r)
	}))
	m.t.Cleanup(model.Close)
	m.patience = time.Minute
	agent.Adapter, agent.Name, agent.Dir = "claude", "claude-code", m.workspace
	agent.Argv = []string{realClaude(m.t)}
	agent.Root = os.Getuid() == 0
	err := m.guest().Configure(m.ctx(), guestapi.Config{Session: "s", Agent: agent, Env: map[string]string{
		"ANTHROPIC_BASE_URL": model.URL, "ANTHROPIC_API_KEY": "none-needed", "CLAUDE_CODE_MAX_RETRIES": "2",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1",
	}})
	if err != nil {
		m.t.Fatal(err)
	}
	return m
}

// killAgents kills whatever works in the workspace, as the agent does, and waits
// until it is gone.
func (m *machine) killAgents() {
	m.t.Helper()
	working := func() (pids []int) {
		for _, pid := range proc.Pids() {
			if dir, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid)); err == nil && dir == m.workspace {
				pids = append(pids, pid)
			}
		}
		return pids
	}
	if len(working()) == 0 {
		m.t.Fatal("no agent runs")
	}
	for pids := working(); len(pids) > 0; pids = working() {
		for _, pid := range pids {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
}

func TestRealClaude(t *testing.T) {
	m := newMachine(t).claude(guestapi.Agent{}, func([]byte) {})
	if end := m.turn("hello there"); end.Outcome != guestapi.EndCompleted || !strings.Contains(end.Text, "reply 1: ") || end.TokensIn == 0 || end.CostMicros == 0 {
		t.Fatalf("%+v\n%s", end, m.history())
	}
	run := m.prompt("RUN: echo from the tool > proof.txt && echo it said so")
	ask := m.ask(run)
	if ask.Action != event.ActionBash || !strings.Contains(ask.Details.Command, "from the tool") || !ask.Details.Editable {
		t.Errorf("ask %+v", ask)
	}
	m.answer(ask.Key, allow)
	if end := m.end(run); end.Outcome != guestapi.EndCompleted || !strings.Contains(end.Text, "it said so") {
		t.Errorf("%+v\n%s", end, m.history())
	}
	if b, err := os.ReadFile(filepath.Join(m.workspace, "proof.txt")); err != nil || string(b) != "from the tool\n" {
		t.Errorf("the tool did not run: %q %v", b, err)
	}
	run = m.prompt("RUN: echo no > no.txt")
	m.answer(m.ask(run).Key, guestapi.Answer{Decision: guestapi.Deny, Reason: "not on my watch"})
	if end := m.end(run); end.Outcome != guestapi.EndCompleted || !strings.Contains(end.Text, "not on my watch") {
		t.Errorf("%+v\n%s", end, m.history())
	}
	for name, text := range map[string]string{"at once": "SLOW: 50", "speaking": "SLOW: 60", "running": "RUN: sleep 77", "asking": "RUN: echo never"} {
		run := m.prompt(text)
		switch name {
		case "speaking":
			m.await("a piece", func() bool { return m.find(run, guestapi.ReportEvent, event.TokenDelta, &event.Delta{}) })
		case "running":
			m.answer(m.ask(run).Key, allow)
		case "asking":
			m.ask(run)
		}
		if end, took := m.cancel(run); end.Outcome != guestapi.EndCancelled || took > 9*time.Second {
			t.Errorf("%s: %+v after %v\n%s", name, end, took, m.history())
		}
	}
	if end := m.turn("/context"); end.Outcome != guestapi.EndCompleted || end.Text == "" { // the agent's own command: its model is not asked
		t.Errorf("%+v\n%s", end, m.history())
	}
	if end := m.turn("ERR: 400"); end.Outcome != guestapi.EndFailed || end.Code != event.ModelError || !strings.Contains(end.Message, "400") {
		t.Errorf("%+v\n%s", end, m.history())
	}
	if end := m.turn("ERR: 401"); end.Outcome != guestapi.EndFailed || end.Code != event.ModelError || !strings.Contains(end.Message, "401") {
		t.Errorf("%+v\n%s", end, m.history())
	}
	m.killAgents()
	if end := m.turn("and again"); end.Outcome != guestapi.EndCompleted || strings.Contains(end.Text, "reply 1:") {
		t.Errorf("the conversation is lost: %+v\n%s", end, m.history())
	}
}

// What a workspace says is read to the model; what it, or a hook of the home, would
// have the agent start by itself, beside the policy, is not started.
func TestRealClaudeTrustsNoWorkspace(t *testing.T) {
	m := newMachine(t)
	mark := filepath.Join(filepath.Dir(m.workspace), "ran")
	settings := `{"apiKeyHelper":"touch ` + mark + `; echo key","disableAllHooks":false,"permissions":{"allow":["Bash"]},` +
		`"hooks":{"PreToolUse":[{"matcher":"*","hooks":[{"type":"command","command":"touch ` + mark + `"}]}]}}`
	for name, text := range map[string]string{"CLAUDE.md": "Rule one of this workspace: be brief.", ".claude/settings.json": settings, ".claude/settings.local.json": settings} {
		name = filepath.Join(m.workspace, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	home := filepath.Join(filepath.Dir(m.workspace), ".claude")
	if err := os.MkdirAll(home, 0o755); err != nil {
		t.Fatal(err)
	}
	hooks := `{"disableAllHooks":false,"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"touch ` + mark + `"}]}],` +
		`"PreToolUse":[{"matcher":"*","hooks":[{"type":"command","command":"touch ` + mark + `"}]}]}}`
	if err := os.WriteFile(filepath.Join(home, "settings.json"), []byte(hooks), 0o644); err != nil {
		t.Fatal(err)
	}
	var told atomic.Bool
	m.claude(guestapi.Agent{}, func(body []byte) {
		if bytes.Contains(body, []byte("Rule one of this workspace")) {
			told.Store(true)
		}
	})
	run := m.prompt("RUN: echo hello")
	m.answer(m.ask(run).Key, allow) // asked, whatever the workspace allows
	if end := m.end(run); end.Outcome != guestapi.EndCompleted || !strings.Contains(end.Text, "hello") {
		t.Errorf("%+v\n%s", end, m.history())
	}
	if !told.Load() {
		t.Error("the model was not told what CLAUDE.md says")
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("a program that a file of settings names was started")
	}
}
