package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/digitalocean/godo"
)

// create makes a session from a spec and waits until it is ready.
func (s *server) create(spec string) *godo.HostedAgentSession {
	s.t.Helper()
	sess := s.createNoWait(spec)
	return s.waitStatus(sess.SessionID, godo.HostedAgentSessionStatusReady)
}

func (s *server) createNoWait(spec string) *godo.HostedAgentSession {
	s.t.Helper()
	sess, _, err := s.client().HostedAgents.CreateSessionFromManifest(context.Background(), []byte(spec), nil)
	if err != nil {
		s.t.Fatalf("create: %v", err)
	}
	return sess
}

func (s *server) get(id string) *godo.HostedAgentSession {
	s.t.Helper()
	sess, _, err := s.client().HostedAgents.GetSession(context.Background(), id)
	if err != nil {
		s.t.Fatalf("get %s: %v", id, err)
	}
	return sess
}

func (s *server) waitStatus(id string, want godo.HostedAgentSessionStatus) *godo.HostedAgentSession {
	s.t.Helper()
	var sess *godo.HostedAgentSession
	eventually(s.t, id+" is "+string(want), func() bool {
		sess = s.get(id)
		if sess.Status != want && sess.Status == godo.HostedAgentSessionStatusFailed {
			s.t.Fatalf("session %s failed\n%s", id, s.log)
		}
		return sess.Status == want
	})
	return sess
}

// send gives the session an input and returns the run's id.
func (s *server) send(id, text string) string {
	s.t.Helper()
	out, _, err := s.client().HostedAgents.SendInput(context.Background(), id, &godo.HostedAgentSendInputRequest{Text: text})
	if err != nil {
		s.t.Fatalf("send %q: %v", text, err)
	}
	return out.RunID
}

// history reads all stored events.
func (s *server) history(id string) []godo.HostedAgentEvent {
	s.t.Helper()
	st, _, err := s.client().HostedAgents.StreamSession(context.Background(), id, &godo.HostedAgentSessionStreamOptions{ReplayOnly: true, IncludeRaw: true})
	if err != nil {
		s.t.Fatalf("history: %v", err)
	}
	defer st.Close()
	var all []godo.HostedAgentEvent
	for st.Next() {
		if e := st.Current(); e.Kind != godo.HostedAgentEventKindStreamState {
			all = append(all, e)
		}
	}
	if st.Err() != nil {
		s.t.Fatalf("history: %v", st.Err())
	}
	return all
}

// waitEvent waits until an event of the run satisfies cond, and returns it.
func (s *server) waitEvent(id string, cond func(godo.HostedAgentEvent) bool) godo.HostedAgentEvent {
	s.t.Helper()
	var found godo.HostedAgentEvent
	eventually(s.t, "the awaited event", func() bool {
		for _, e := range s.history(id) {
			if cond(e) {
				found = e
				return true
			}
		}
		return false
	})
	return found
}

// waitRun waits until the run has ended and returns its terminal event.
func (s *server) waitRun(id, run string) godo.HostedAgentEvent {
	s.t.Helper()
	return s.waitEvent(id, func(e godo.HostedAgentEvent) bool {
		return e.RunID == run && (e.Kind == godo.HostedAgentEventKindRunCompleted || e.Kind == godo.HostedAgentEventKindRunFailed)
	})
}

// turn sends an input and returns the text of the completed run.
func (s *server) turn(id, text string) string {
	s.t.Helper()
	run := s.send(id, text)
	end := s.waitRun(id, run)
	if end.Kind != godo.HostedAgentEventKindRunCompleted {
		s.t.Fatalf("run %q ended as %s %s", text, end.Kind, end.Payload)
	}
	return s.said(id, run)
}

// said puts together what the agent said in a run.
func (s *server) said(id, run string) string {
	s.t.Helper()
	var b strings.Builder
	for _, e := range s.history(id) {
		if e.RunID == run && e.Kind == godo.HostedAgentEventKindTokenChunk {
			b.WriteString(payload[struct {
				Text        string
				IsReasoning bool `json:"is_reasoning"`
			}](s.t, e).Text)
		}
	}
	return b.String()
}

// payload decodes an event's data.
func payload[T any](t *testing.T, e godo.HostedAgentEvent) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(e.Payload, &v); err != nil {
		t.Fatalf("payload of %s: %v in %s", e.Kind, err, e.Payload)
	}
	return v
}

// wantRefusal asserts the status and a part of the message of a refusal.
func wantRefusal(t *testing.T, err error, status int, part string) {
	t.Helper()
	var e *godo.ErrorResponse
	if !errors.As(err, &e) || e.Response.StatusCode != status || !strings.Contains(e.Message, part) {
		t.Fatalf("got %v, want %d with %q", err, status, part)
	}
	if e.RequestID == "" {
		t.Errorf("refusal carries no request id: %v", err)
	}
}

// assertLog asserts what every history must hold: seq from 1 without gaps, ids
// in strict order, times that never run backwards, one terminal event per run.
func assertLog(t *testing.T, events []godo.HostedAgentEvent) {
	t.Helper()
	ends := map[string]int{}
	for i, e := range events {
		if e.Seq != uint64(i+1) {
			t.Fatalf("event %d has seq %d", i+1, e.Seq)
		}
		if i > 0 && (e.EventID <= events[i-1].EventID || e.At.Before(events[i-1].At.Time)) {
			t.Errorf("event %d (%s, %s) does not follow %s, %s", e.Seq, e.EventID, e.At, events[i-1].EventID, events[i-1].At)
		}
		if e.Kind == godo.HostedAgentEventKindRunCompleted || e.Kind == godo.HostedAgentEventKindRunFailed {
			if ends[e.RunID]++; ends[e.RunID] > 1 {
				t.Errorf("run %s has %d terminal events", e.RunID, ends[e.RunID])
			}
		}
	}
}

func TestTwoTurns(t *testing.T) {
	s := startServer(t)
	sess := s.create("agent: demo\nname: two-turns\n")
	if !strings.HasPrefix(sess.SessionID, "sess_") || sess.Name != "two-turns" || sess.SandboxID == "" {
		t.Errorf("session is %+v", sess)
	}
	for i, want := range []string{"turn 1: ", "turn 2: "} {
		if got := s.turn(sess.SessionID, "hello"); !strings.HasPrefix(got, want) {
			t.Errorf("turn %d: the agent said %q, want %q…", i+1, got, want)
		}
	}
	events := s.history(sess.SessionID)
	assertLog(t, events)
	if kind := events[0].Kind; kind != godo.HostedAgentEventKindSessionUpdated {
		t.Errorf("history begins with %s", kind)
	}
	byName := s.get("TWO-turns")
	if byName.SessionID != sess.SessionID {
		t.Errorf("name leads to %s", byName.SessionID)
	}
}

func TestNamesAndSlots(t *testing.T) {
	s := startServer(t, "--max-active-sessions", "2")
	ctx, c := context.Background(), s.client()
	first := s.create("agent: none\nname: first\n")
	_, _, err := c.HostedAgents.CreateSessionFromManifest(ctx, []byte("agent: none\nname: FIRST\n"), nil)
	wantRefusal(t, err, http.StatusConflict, "in use")
	second := s.create("agent: none\n")
	if second.Name == "" {
		t.Error("no name was generated")
	}
	_, _, err = c.HostedAgents.CreateSessionFromManifest(ctx, []byte("agent: none\n"), nil)
	wantRefusal(t, err, http.StatusConflict, "team is at the limit of 2 active sessions")
	if _, err := c.HostedAgents.PauseSession(ctx, second.SessionID); err != nil {
		t.Fatal(err)
	}
	_, _, err = c.HostedAgents.CreateSessionFromManifest(ctx, []byte("agent: none\n"), nil)
	wantRefusal(t, err, http.StatusConflict, "team is at the limit of 2 active sessions")
	if _, err := c.HostedAgents.DestroySession(ctx, "first"); err != nil {
		t.Fatal(err)
	}
	again := s.create("agent: none\nname: first\n") // name and slot are free at once
	if again.SessionID == first.SessionID {
		t.Error("the removed session came back")
	}
	list, _, err := c.HostedAgents.ListSessions(ctx, &godo.HostedAgentSessionListOptions{Name: "First"})
	if err != nil || len(list.Sessions) != 1 || list.Sessions[0].SessionID != again.SessionID {
		t.Errorf("list by name: %+v, %v", list, err)
	}
	_, _, err = s.clientWith("wrong").HostedAgents.GetSession(ctx, again.SessionID)
	wantRefusal(t, err, http.StatusUnauthorized, "token")
}

func TestSessionWithoutAgent(t *testing.T) {
	s := startServer(t)
	sess := s.create("agent: none\n")
	_, _, err := s.client().HostedAgents.SendInput(context.Background(), sess.SessionID, &godo.HostedAgentSendInputRequest{Text: "hi"})
	wantRefusal(t, err, http.StatusConflict, "no agent")
}
