package e2e

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/digitalocean/godo"
)

type failed struct {
	Code      int
	Name      string
	Message   string
	Cancelled bool
	Terminal  bool
}

type asked struct {
	HITLID  string `json:"hitl_id"`
	Action  string
	Details struct{ Command, Path, Tool, Question string }
}

// waitAsk waits for the run's question to a person.
func (s *server) waitAsk(id, run string) asked {
	s.t.Helper()
	return payload[asked](s.t, s.waitEvent(id, func(e godo.HostedAgentEvent) bool {
		return e.RunID == run && e.Kind == godo.HostedAgentEventKindHITLRequested
	}))
}

func (s *server) answer(id, hitl string, outcome godo.HostedAgentHITLOutcome, content map[string]any) error {
	_, err := s.client().HostedAgents.ResolveHITL(context.Background(), id, hitl,
		&godo.HostedAgentResolveHITLRequest{Outcome: outcome, Reason: "because of the test", Content: content})
	return err
}

// count counts the events of a kind in a run.
func count(events []godo.HostedAgentEvent, run string, kind godo.HostedAgentEventKind) (n int) {
	for _, e := range events {
		if e.RunID == run && e.Kind == kind {
			n++
		}
	}
	return n
}

func TestPermissions(t *testing.T) {
	s := startServer(t)
	for _, c := range []struct {
		spec, outcome string
		wrote         bool
	}{
		{"agent: demo\npermissions: {default: allow}\n", "", true},
		{"agent: demo\npermissions: {default: deny}\n", "", false},
		{"agent: demo\npermissions: {default: ask}\n", "HITL_OUTCOME_APPROVE", true},
		{"agent: demo\n", "HITL_OUTCOME_REJECT", false}, // ask is the default
	} {
		t.Run(c.spec+c.outcome, func(t *testing.T) {
			id := s.create(c.spec).SessionID
			run := s.send(id, "run echo hello > made.txt; echo out; exit 0")
			if c.outcome != "" {
				a := s.waitAsk(id, run)
				if a.Action != "HITL_ACTION_BASH" || !strings.Contains(a.Details.Command, "echo hello > made.txt") {
					t.Errorf("asked %+v", a)
				}
				other := godo.HostedAgentHITLOutcomeApprove
				if c.outcome == string(other) {
					other = godo.HostedAgentHITLOutcomeReject
				}
				for range 2 { // the same answer again is no error
					if err := s.answer(id, a.HITLID, godo.HostedAgentHITLOutcome(c.outcome), nil); err != nil {
						t.Fatal(err)
					}
				}
				wantRefusal(t, s.answer(id, a.HITLID, other, nil), http.StatusConflict, "already")
			}
			if end := s.waitRun(id, run); end.Kind != godo.HostedAgentEventKindRunCompleted {
				t.Fatalf("run ended as %s %s", end.Kind, end.Payload)
			}
			code, out, _ := s.exec(id, "cat", "made.txt")
			if (code == 0) != c.wrote || c.wrote && out != "hello\n" {
				t.Errorf("cat: %d %q, want written %v", code, out, c.wrote)
			}
			events := s.history(id)
			assertLog(t, events)
			wantAsked := 0
			if c.outcome != "" {
				wantAsked = 1
			}
			if n := count(events, run, godo.HostedAgentEventKindHITLRequested); n != wantAsked {
				t.Errorf("%d questions, want %d", n, wantAsked)
			}
			if n := count(events, run, godo.HostedAgentEventKindHITLResolved); n != wantAsked {
				t.Errorf("%d answers, want %d", n, wantAsked)
			}
			if n, m := count(events, run, godo.HostedAgentEventKindToolCallStarted), count(events, run, godo.HostedAgentEventKindToolCallCompleted); n != 1 || m != 1 {
				t.Errorf("%d tool calls started, %d completed", n, m)
			}
			// The conversation goes on.
			if got := s.turn(id, "hello"); !strings.HasPrefix(got, "turn 2: ") {
				t.Errorf("next turn: %q", got)
			}
		})
	}
}

func TestQuestion(t *testing.T) {
	s := startServer(t)
	id := s.create("agent: demo\npermissions: {default: allow}\n").SessionID
	run := s.send(id, "ask Which colour?")
	a := s.waitAsk(id, run)
	if a.Details.Question != "Which colour?" {
		t.Errorf("asked %+v", a)
	}
	if err := s.answer(id, a.HITLID, godo.HostedAgentHITLOutcomeDefer, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.answer(id, a.HITLID, godo.HostedAgentHITLOutcomeApprove, map[string]any{"answer": "ultramarine"}); err != nil {
		t.Fatal(err)
	}
	s.waitRun(id, run)
	if got := s.said(id, run); !strings.Contains(got, "ultramarine") {
		t.Errorf("the agent said %q", got)
	}
	for _, e := range s.history(id) {
		if e.Kind == godo.HostedAgentEventKindHITLResolved && strings.Contains(string(e.Payload), "ultramarine") {
			t.Error("the content of the form is in the history")
		}
	}
}

func TestFailureIsTerminal(t *testing.T) {
	s := startServer(t)
	for name, c := range map[string]struct {
		input, message string
		code           int
	}{
		"fail": {"fail the moon is wrong", "the moon is wrong", 3},
	} {
		t.Run(name, func(t *testing.T) {
			id := s.create("agent: demo\n").SessionID
			s.turn(id, "hello")
			s.send(id, "slow 3") // so that both that follow wait in line
			run := s.send(id, c.input)
			behind := s.send(id, "hello again")
			f := payload[failed](t, s.waitRun(id, run))
			if !strings.Contains(f.Message, c.message) || f.Code != c.code || !f.Terminal {
				t.Errorf("failure is %+v", f)
			}
			if f := payload[failed](t, s.waitRun(id, behind)); f.Message == "" {
				t.Errorf("queued run: %+v", f)
			}
			_, _, err := s.client().HostedAgents.SendInput(context.Background(), id, &godo.HostedAgentSendInputRequest{Text: "hi"})
			wantRefusal(t, err, http.StatusConflict, "run is terminal")
			if code, out, _ := s.exec(id, "echo", "alive"); code != 0 || out != "alive\n" {
				t.Errorf("exec after a terminal run: %d %q", code, out)
			}
			if _, err := s.client().HostedAgents.PauseSession(context.Background(), id); err != nil {
				t.Fatal(err)
			}
			_, _, err = s.client().HostedAgents.SendInput(context.Background(), id, &godo.HostedAgentSendInputRequest{Text: "hi"})
			wantRefusal(t, err, http.StatusConflict, "run is terminal")
			if st := s.get(id).Status; st != godo.HostedAgentSessionStatusPaused {
				t.Errorf("a refused input left the session %s", st)
			}
			assertLog(t, s.history(id))
		})
	}
}

func TestQueueAndCancel(t *testing.T) {
	s := startServer(t)
	id := s.create("agent: demo\npermissions: {default: allow}\n").SessionID
	first := s.send(id, "slow 300")
	second := s.send(id, "hello")
	third := s.send(id, "hello")
	s.waitEvent(id, func(e godo.HostedAgentEvent) bool {
		return e.RunID == first && e.Kind == godo.HostedAgentEventKindTokenChunk
	})
	if got := s.cancel(id, second); got != "acked" {
		t.Errorf("cancel of a queued run: %s", got)
	}
	if f := payload[failed](t, s.waitRun(id, second)); !f.Cancelled {
		t.Errorf("queued run: %+v", f)
	}
	if got := s.cancel(id, ""); got != "acked" {
		t.Errorf("cancel: %s", got)
	}
	f := payload[failed](t, s.waitRun(id, first))
	if !f.Cancelled || f.Code != 7 || f.Terminal {
		t.Errorf("cancelled run: %+v", f)
	}
	if end := s.waitRun(id, third); end.Kind != godo.HostedAgentEventKindRunCompleted {
		t.Errorf("the run after a cancelled one: %s %s", end.Kind, end.Payload)
	}
	events := s.history(id)
	assertLog(t, events)
	if n := count(events, second, godo.HostedAgentEventKindRunStarted); n != 0 {
		t.Error("the cancelled queued run was started")
	}
	if got := s.cancel(id, ""); got != "no_turn" {
		t.Errorf("cancel without a run: %s", got)
	}
}

// cancel asks for a cancel over the wire (the public client has no call for it)
// and returns the outcome.
func (s *server) cancel(id, run string) string {
	s.t.Helper()
	var out struct{ Outcome string }
	s.call(http.MethodPost, "/sessions/"+id+"/cancel", map[string]string{"run_id": run}, http.StatusOK, &out)
	return out.Outcome
}

func TestApprovalExpiresWithItsRun(t *testing.T) {
	s := startServer(t)
	id := s.create("agent: demo\n").SessionID
	run := s.send(id, "run echo never")
	a := s.waitAsk(id, run)
	s.cancel(id, run)
	if f := payload[failed](t, s.waitRun(id, run)); !f.Cancelled {
		t.Errorf("run: %+v", f)
	}
	wantRefusal(t, s.answer(id, a.HITLID, godo.HostedAgentHITLOutcomeApprove, nil), http.StatusConflict, "expired")
	if got := s.turn(id, "hello"); !strings.HasPrefix(got, "turn 2: ") {
		t.Errorf("after a cancelled run: %q", got)
	}
}

func TestRunsAreListed(t *testing.T) {
	s := startServer(t)
	id := s.create("agent: demo\n").SessionID
	s.turn(id, "hello")
	s.turn(id, "again")
	var list struct {
		Runs []struct {
			RunID     string `json:"run_id"`
			State     string
			Text      string
			StartedAt string `json:"started_at"`
			EndedAt   string `json:"ended_at"`
		}
	}
	s.call(http.MethodGet, "/sessions/"+id+"/runs", nil, http.StatusOK, &list)
	if len(list.Runs) != 2 || list.Runs[0].Text != "again" || list.Runs[1].State != "RUN_STATE_COMPLETED" || list.Runs[1].EndedAt == "" {
		t.Errorf("runs are %+v", list.Runs)
	}
}
