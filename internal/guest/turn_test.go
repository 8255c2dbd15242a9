package guest_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"paddock/internal/event"
	"paddock/internal/fault"
	"paddock/internal/guestapi"
	"paddock/internal/id"
)

var allow = guestapi.Answer{Decision: guestapi.Allow}

func TestTurnsCount(t *testing.T) {
	m := newMachine(t).demo()
	for k := 1; k <= 3; k++ {
		end := m.turn("hello")
		if end.Outcome != guestapi.EndCompleted || end.StopReason != "end_turn" || !strings.HasPrefix(end.Text, fmt.Sprintf("turn %d: ", k)) {
			t.Errorf("turn %d: %+v", k, end)
		}
		if end.TokensIn < 1 || end.TokensOut < 1 {
			t.Errorf("turn %d used %d and %d tokens", k, end.TokensIn, end.TokensOut)
		}
	}
	var usage event.Usage
	m.await("usage", func() bool { return m.find(m.lastRun(), guestapi.ReportEvent, event.UsageRecorded, &usage) })
	if usage.Usage.Input < 1 || usage.StepID == "" {
		t.Errorf("usage %+v", usage)
	}
}

// lastRun is the run of the newest report that has one. Locked.
func (m *machine) lastRun() (run id.Run) {
	for _, r := range m.reports {
		if r.Run != "" {
			run, _ = id.Parse[id.Run](r.Run)
		}
	}
	return run
}

func TestThinkReadFail(t *testing.T) {
	m := newMachine(t).demo()
	run := m.prompt("think of a fox 🦊")
	if end := m.end(run); end.Text != "I have thought about it." {
		t.Errorf("%+v", end)
	}
	thought := false
	for _, r := range m.reports {
		var d event.Delta
		if json.Unmarshal(r.Data, &d) == nil && d.IsReasoning && d.Text == "of a fox 🦊" && r.SourceType == "agent_thought_chunk" && json.Valid(r.SourceRaw) {
			thought = true
		}
	}
	if !thought {
		t.Errorf("no thought in\n%s", m.history())
	}
	if err := os.WriteFile(filepath.Join(m.workspace, "a b"), []byte("content"), 0o644); err != nil {
		t.Fatal(err)
	}
	run = m.prompt("read a b")
	if end := m.end(run); end.Text != "content" {
		t.Errorf("%+v", end)
	}
	var started event.ToolStarted
	var completed event.ToolCompleted
	if !m.find(run, guestapi.ReportEvent, event.ToolCallStarted, &started) || !m.find(run, guestapi.ReportEvent, event.ToolCallCompleted, &completed) {
		t.Fatal(m.history())
	}
	if started.Kind != "read" || started.Name != "read" || started.ToolCallID != completed.ToolCallID || !completed.OK || completed.Summary != "content" {
		t.Errorf("%+v %+v", started, completed)
	}
	if end := m.turn("fail out of luck"); end.Outcome != guestapi.EndFailed || end.Code != event.ToolError || end.Message != "out of luck" {
		t.Errorf("%+v", end)
	}
}

func TestPermission(t *testing.T) {
	m := newMachine(t).demo()
	run := m.prompt("run echo hi; echo $((6*7)); exit 4")
	ask := m.ask(run)
	if ask.Action != event.ActionBash || ask.Details.Command != "echo hi; echo $((6*7)); exit 4" || ask.Details.Tool != "shell" || ask.ToolCallID == "" {
		t.Errorf("ask %+v", ask)
	}
	m.answer("no such key", guestapi.Answer{Decision: guestapi.Deny})
	m.answer(ask.Key, allow)
	m.answer(ask.Key, guestapi.Answer{Decision: guestapi.Deny}) // settled already
	if end := m.end(run); end.Outcome != guestapi.EndCompleted || end.Text != "exit code 4\nhi\n42\n" {
		t.Errorf("end %+v", end)
	}
	var completed event.ToolCompleted
	if !m.find(run, guestapi.ReportEvent, event.ToolCallCompleted, &completed) || completed.OK || completed.ExitCode == nil || *completed.ExitCode != 4 || completed.Summary != "hi\n42\n" {
		t.Errorf("completed %+v", completed)
	}

	run = m.prompt("write ../outside nothing")
	ask = m.ask(run)
	if ask.Action != event.ActionWriteOutside || ask.Details.Path != filepath.Join(filepath.Dir(m.workspace), "outside") {
		t.Errorf("ask %+v", ask)
	}
	m.answer(ask.Key, guestapi.Answer{Decision: guestapi.Deny})
	if end := m.end(run); end.Outcome != guestapi.EndCompleted || !strings.HasPrefix(end.Text, "permission denied") {
		t.Errorf("end %+v", end)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(m.workspace), "outside")); !os.IsNotExist(err) {
		t.Errorf("denied and written: %v", err)
	}

	run = m.prompt("write inside hello world")
	ask = m.ask(run)
	if ask.Action != event.ActionUnspecified || ask.Details.Path != filepath.Join(m.workspace, "inside") || ask.Details.Tool != "write" {
		t.Errorf("ask %+v", ask)
	}
	m.answer(ask.Key, allow)
	m.end(run)
	if b, err := os.ReadFile(filepath.Join(m.workspace, "inside")); err != nil || string(b) != "hello world\n" {
		t.Errorf("%q %v", b, err)
	}
}

// What a person made of the input is what is done.
func TestEditedInput(t *testing.T) {
	m := newMachine(t).demo()
	run := m.prompt("run echo before")
	ask := m.ask(run)
	if !ask.Details.Editable || ask.Details.Kind != "execute" || !strings.Contains(string(ask.Details.Input), `"echo before"`) {
		t.Errorf("ask %+v", ask)
	}
	m.answer(ask.Key, guestapi.Answer{Decision: guestapi.Allow, Input: json.RawMessage(`{"command":"echo after"}`)})
	if end := m.end(run); end.Text != "exit code 0\nafter\n" {
		t.Errorf("end %+v", end)
	}
}

// An agent may ask several things at once; the answers come in any order.
func TestAskedTogether(t *testing.T) {
	m := newMachine(t).demo()
	run := m.prompt("together echo one ; echo two")
	for _, ask := range m.asks(run, 2) {
		answer := allow
		if ask.Details.Command == "echo one" {
			answer = guestapi.Answer{Decision: guestapi.Deny}
		}
		m.answer(ask.Key, answer)
	}
	if end := m.end(run); end.Text != "permission denied: I did not run echo one\nexit code 0\ntwo\n" {
		t.Errorf("end %+v", end)
	}
}

func TestQuestion(t *testing.T) {
	m := newMachine(t).demo()
	for want, answer := range map[string]guestapi.Answer{
		"you answered: red":  {Decision: guestapi.Allow, Content: map[string]any{"answer": "red"}},
		"you did not answer": {Decision: guestapi.Deny},
	} {
		run := m.prompt("ask Which colour?")
		ask := m.ask(run)
		if ask.Details.Question != "Which colour?" || !json.Valid(ask.Details.Schema) || ask.Action != event.ActionUnspecified {
			t.Errorf("ask %+v", ask)
		}
		m.answer(ask.Key, answer)
		if end := m.end(run); end.Text != want {
			t.Errorf("%+v", end)
		}
	}
}

func TestPromptIsIdempotentAndExclusive(t *testing.T) {
	m := newMachine(t).demo()
	run := m.prompt("ask wait")
	ask := m.ask(run)
	if err := m.guest().Prompt(m.ctx(), run, guestapi.Prompt{Text: "ask wait"}); err != nil {
		t.Error(err)
	}
	if err := m.guest().Prompt(m.ctx(), id.New[id.Run](), guestapi.Prompt{Text: "x"}); !fault.Is(err, fault.Conflict) {
		t.Errorf("second run: %v", err)
	}
	m.answer(ask.Key, guestapi.Answer{Decision: guestapi.Deny})
	m.end(run)
	if err := m.guest().Prompt(m.ctx(), run, guestapi.Prompt{Text: "again"}); err != nil {
		t.Error(err)
	}
	if end := m.turn("hello"); !strings.HasPrefix(end.Text, "turn 2: ") {
		t.Errorf("a repeated prompt was played: %+v", end)
	}
}

// cancel cancels a run and measures how long its end takes.
func (m *machine) cancel(run id.Run) (guestapi.End, time.Duration) {
	m.t.Helper()
	start := time.Now()
	outcome, err := m.guest().Cancel(m.ctx(), run)
	if err != nil || outcome != guestapi.CancelAcked {
		m.t.Fatalf("cancel: %v %v", outcome, err)
	}
	end := m.end(run)
	return end, time.Since(start)
}

func TestCancelInEachPhase(t *testing.T) {
	m := newMachine(t).demo()
	if outcome, err := m.guest().Cancel(m.ctx(), id.New[id.Run]()); err != nil || outcome != guestapi.CancelNoTurn {
		t.Errorf("no turn: %v %v", outcome, err)
	}
	asking := func(text string) func() id.Run {
		return func() id.Run {
			run := m.prompt(text)
			m.ask(run)
			return run
		}
	}
	for name, start := range map[string]func() id.Run{
		"just sent": func() id.Run { return m.prompt("slow 1000") },
		"asking":    asking("run true"),
		"question":  asking("ask really?"),
		"speaking": func() id.Run {
			run := m.prompt("slow 1000")
			m.await("a piece", func() bool { return m.find(run, guestapi.ReportEvent, event.TokenDelta, &event.Delta{}) })
			return run
		},
		"running": func() id.Run {
			run := m.prompt("run echo begun; exec sleep 1000")
			m.answer(m.ask(run).Key, allow)
			m.await("output", func() bool { return m.find(run, guestapi.ReportEvent, event.RunLog, &event.Log{}) })
			return run
		},
	} {
		if end, took := m.cancel(start()); end.Outcome != guestapi.EndCancelled || took > 3*time.Second {
			t.Errorf("%s: %+v after %v", name, end, took)
		}
	}
	if end := m.turn("hello"); end.Outcome != guestapi.EndCompleted {
		t.Errorf("after the cancels: %+v", end)
	}
}

// A cancelled turn takes with it what it started, however well hidden, and
// nothing else.
func TestCancelKillsTheTurnsTree(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("the agent's tree is marked by a group, which only root can give")
	}
	m := newMachine(t).demo()
	run := m.prompt("run setsid sleep 1000 >/dev/null 2>&1 & echo $! > earlier")
	m.answer(m.ask(run).Key, allow)
	m.end(run)
	m.exec("setsid sleep 1000 >/dev/null 2>&1 & echo $! > exec")
	run = m.prompt("run setsid env -i sh -c '/bin/echo $$ > turn; trap \"\" TERM; while :; do /bin/sleep 1; done' & sleep 1000")
	m.answer(m.ask(run).Key, allow)
	if out, _, _ := m.exec("until [ -s turn ]; do sleep 0.01; done; cat turn"); out == "" {
		t.Fatal("not begun")
	}
	if end, _ := m.cancel(run); end.Outcome != guestapi.EndCancelled {
		t.Errorf("%+v", end)
	}
	for name, alive := range map[string]bool{"earlier": true, "exec": true, "turn": false} {
		b, err := os.ReadFile(filepath.Join(m.workspace, name))
		pid, _ := strconv.Atoi(strings.TrimSpace(string(b)))
		if err != nil || pid == 0 {
			t.Fatalf("%s: %q %v", name, b, err)
		}
		if got := unix.Kill(pid, 0) == nil; got != alive {
			t.Errorf("%s: alive %v", name, got)
		}
		_ = unix.Kill(pid, unix.SIGKILL)
	}
}

func TestAgentCrashesAndComesBack(t *testing.T) {
	m := newMachine(t).demo()
	m.turn("one")
	end := m.turn("crash")
	if end.Outcome != guestapi.EndFailed || end.Code != event.Internal || end.Message != "agent exited with code 3: crashing as asked" {
		t.Errorf("%+v", end)
	}
	if end := m.turn("three"); !strings.HasPrefix(end.Text, "turn 3: ") {
		t.Errorf("the conversation is lost: %+v", end)
	}
}

func TestAgentKilledDuringApproval(t *testing.T) {
	m := newMachine(t).demo()
	run := m.prompt("run true")
	ask := m.ask(run)
	out, _, _ := m.exec(`for p in /proc/[0-9]*; do [ "$(tr '\0' ' ' < $p/cmdline)" = "` + demoAgent + ` " ] && echo ${p#/proc/}; done 2>/dev/null; true`)
	for _, word := range strings.Fields(out) {
		pid, _ := strconv.Atoi(word)
		_ = unix.Kill(pid, unix.SIGKILL)
	}
	if end := m.end(run); end.Outcome != guestapi.EndFailed || !strings.Contains(end.Message, "killed by signal 9") {
		t.Fatalf("%+v", end)
	}
	m.answer(ask.Key, allow) // of a turn that is over
	if end := m.turn("hello"); !strings.HasPrefix(end.Text, "turn 2: ") {
		t.Errorf("the killed turn is not counted: %+v", end)
	}
}

func TestAgentThatCannotStart(t *testing.T) {
	for name, c := range map[string]struct {
		argv []string
		want string
	}{
		"missing": {[]string{"no-such-agent"}, `agent did not start: the program "no-such-agent" was not found in PATH`},
		"exits":   {[]string{"sh", "-c", "echo oh no >&2; exit 9"}, "agent did not start: agent exited with code 9: oh no"},
		"mute":    {[]string{"sh", "-c", "exec >&-; sleep 1000"}, "agent did not start: agent closed its output, and was ended"},
		"version": {[]string{"sh", "-c", `read x; echo '{"id":1,"result":{"protocolVersion":2}}'; cat`}, "agent speaks version 2"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.custom(c.argv...)
			end := m.turn("hello")
			if end.Outcome != guestapi.EndFailed || end.Code != event.Internal || !strings.HasPrefix(end.Message, c.want) {
				t.Errorf("%+v", end)
			}
		})
	}
}

func TestCancelWhileAgentStarts(t *testing.T) {
	m := newMachine(t)
	m.custom("sh", "-c", "sleep 1000")
	if end, took := m.cancel(m.prompt("hello")); end.Outcome != guestapi.EndCancelled || took > 5*time.Second {
		t.Errorf("%+v after %v", end, took)
	}
}

func TestConfigure(t *testing.T) {
	m := newMachine(t)
	g := m.guest()
	if err := g.Prompt(m.ctx(), id.New[id.Run](), guestapi.Prompt{}); !fault.Is(err, fault.Conflict) {
		t.Errorf("not configured: %v", err)
	}
	if err := g.Configure(m.ctx(), guestapi.Config{Agent: guestapi.Agent{Adapter: "telepathy"}}); !fault.Is(err, fault.BadRequest) || !strings.Contains(err.Error(), "acp") {
		t.Errorf("unknown adapter: %v", err)
	}
	config := guestapi.Config{Session: "s", Hostname: "quiet-otter", Agent: guestapi.Agent{Adapter: "none"}, Env: map[string]string{"A": "1"}}
	for range 2 {
		if err := g.Configure(m.ctx(), config); err != nil {
			t.Error(err)
		}
	}
	m.await("the machine has its name", func() bool { return m.hostname == "quiet-otter" })
	config.Env = map[string]string{"A": "2"}
	if err := g.Configure(m.ctx(), config); !fault.Is(err, fault.Conflict) {
		t.Errorf("another config: %v", err)
	}
	if err := g.Prompt(m.ctx(), id.New[id.Run](), guestapi.Prompt{}); !fault.Is(err, fault.Conflict) {
		t.Errorf("no agent: %v", err)
	}
	if out, _, _ := m.exec("echo $A"); out != "1\n" {
		t.Errorf("the session's environment: %q", out)
	}
}

// Whatever happens to the connection, the history has every piece once.
func TestReconnectLosesNothing(t *testing.T) {
	m := newMachine(t).demo()
	run := m.prompt("slow 12")
	for i := range 4 {
		m.await("pieces", func() bool { return len(m.reports) > 2*i })
		m.change(func() { m.refusals = i % 2 })
		link := m.guest()
		link.Close()
		m.await("another connection", func() bool { return m.link != link })
	}
	if end := m.end(run); end.Text != "1 2 3 4 5 6 7 8 9 10 11 12 " || m.text(run) != end.Text {
		t.Errorf("%q, pieces %q", end.Text, m.text(run))
	}
}

func TestDrain(t *testing.T) {
	m := newMachine(t).demo()
	run := m.prompt("slow 1000")
	m.await("a piece", func() bool { return m.find(run, guestapi.ReportEvent, event.TokenDelta, &event.Delta{}) })
	if err := m.guest().Drain(m.ctx()); err != nil {
		t.Error(err)
	}
	m.cancel(run)
}
