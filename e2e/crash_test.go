package e2e

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/digitalocean/godo"

	"paddock/e2e/host"
)

func TestServerKilledInMidTurn(t *testing.T) {
	s := startServer(t)
	sess := s.create("agent: demo\n")
	id := sess.SessionID
	s.turn(id, "hello")
	pid := s.busy(id)
	run := s.send(id, "slow 20")
	s.waitEvent(id, func(e godo.HostedAgentEvent) bool {
		return e.RunID == run && e.Kind == godo.HostedAgentEventKindTokenChunk
	})
	before := machineTree(sess.SandboxID)
	s.kill()
	s.restart()
	after := machineTree(sess.SandboxID)
	if len(before) == 0 || before[0] != after[0] {
		t.Errorf("host processes were %v, are %v", before, after)
	}
	if end := s.waitRun(id, run); end.Kind != godo.HostedAgentEventKindRunCompleted {
		t.Fatalf("the run ended as %s %s", end.Kind, end.Payload)
	}
	if got, want := s.said(id, run), "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 "; !strings.HasPrefix(got, want) {
		t.Errorf("the agent said %q", got)
	}
	events := s.history(id)
	assertLog(t, events)
	if n := count(events, run, godo.HostedAgentEventKindRunStarted); n != 1 {
		t.Errorf("the run was started %d times", n)
	}
	s.sh(id, "kill -0 "+pid)
	if got := s.turn(id, "hello"); !strings.HasPrefix(got, "turn 3: ") {
		t.Errorf("the turn after: %q", got)
	}
}

func TestPausedSessionSurvivesTheServer(t *testing.T) {
	s := startServer(t)
	sess := s.create("agent: demo\n")
	id := sess.SessionID
	s.turn(id, "hello")
	if _, err := s.client().HostedAgents.PauseSession(context.Background(), id); err != nil {
		t.Fatal(err)
	}
	s.kill()
	s.restart()
	if got := s.get(id); got.Status != godo.HostedAgentSessionStatusPaused || got.PauseReason != "manual" {
		t.Errorf("the session is %s (%s)", got.Status, got.PauseReason)
	}
	if got := s.turn(id, "hello"); !strings.HasPrefix(got, "turn 2: ") {
		t.Errorf("the turn after: %q", got)
	}
}

func TestApprovalSurvivesTheServer(t *testing.T) {
	s := startServer(t)
	id := s.create("agent: demo\n").SessionID
	run := s.send(id, "run echo hello > made.txt")
	a := s.waitAsk(id, run)
	s.kill()
	s.restart()
	if err := s.answer(id, a.HITLID, godo.HostedAgentHITLOutcomeApprove, nil); err != nil {
		t.Fatal(err)
	}
	s.waitRun(id, run)
	if got := s.sh(id, "cat made.txt"); got != "hello\n" {
		t.Errorf("made.txt is %q", got)
	}
}

func TestSandboxKilled(t *testing.T) {
	s := startServer(t)
	sess := s.create("agent: demo\n")
	id := sess.SessionID
	run := s.send(id, "slow 100")
	s.waitEvent(id, func(e godo.HostedAgentEvent) bool {
		return e.RunID == run && e.Kind == godo.HostedAgentEventKindTokenChunk
	})
	killMachine(t, sess.SandboxID)
	f := payload[failed](t, s.waitRun(id, run))
	if f.Code != 4 || !f.Terminal {
		t.Errorf("the run failed with %+v", f)
	}
	eventually(t, "the session failed", func() bool { return s.get(id).Status == godo.HostedAgentSessionStatusFailed })
	eventually(t, "the host is free of it", func() bool {
		return len(host.Processes(sess.SandboxID)) == 0 && len(host.Cgroups(sess.SandboxID)) == 0
	})
	assertLog(t, s.history(id))
}

// The server dies at each stored step of a verb. The next one must end what was
// begun, and removal must leave nothing (asserted when the test ends).
func TestServerKilledAtEachStep(t *testing.T) {
	for _, c := range []struct {
		step string
		do   func(s *server, id string) // may fail: the server dies under it
		want godo.HostedAgentSessionStatus
		pool int // spares
	}{
		{"create.stored", nil, godo.HostedAgentSessionStatusReady, 0},
		{"create.stored", nil, godo.HostedAgentSessionStatusReady, 1},
		{"boot.claimed", nil, godo.HostedAgentSessionStatusReady, 1},
		{"boot.reported", nil, godo.HostedAgentSessionStatusReady, 1},
		{"boot.planned", nil, godo.HostedAgentSessionStatusReady, 0},
		{"boot.started", nil, godo.HostedAgentSessionStatusReady, 0},
		{"pause.drained", pause, godo.HostedAgentSessionStatusReady, 0},
		{"pause.frozen", pause, godo.HostedAgentSessionStatusReady, 0},
		{"resume.thawed", pauseAndResume, godo.HostedAgentSessionStatusPaused, 0},
	} {
		t.Run(fmt.Sprintf("%s with %d spares", c.step, c.pool), func(t *testing.T) {
			t.Parallel() // each has a server of its own
			s := startServer(t, "--pool", strconv.Itoa(c.pool))
			id := ""
			if c.do != nil {
				id = s.create("agent: demo\nname: victim\n").SessionID
			}
			s.kill()
			s.env = []string{"PADDOCK_FAILPOINT=" + c.step}
			s.start()
			s.waitServing()
			var spares []string
			if c.pool > 0 {
				spares = s.waitSpares(c.pool)
			}
			if c.do == nil {
				_, _, _ = s.client().HostedAgents.CreateSessionFromManifest(context.Background(), []byte("agent: demo\nname: victim\n"), nil)
			} else {
				c.do(s, id)
			}
			<-s.done
			s.restart()
			sess := s.get("victim")
			got := s.waitStatus(sess.SessionID, c.want)
			if kept := slices.Contains(spares, got.SandboxID); kept != (c.step == "boot.reported") {
				t.Errorf("its sandbox is one of the spares: %v", kept)
			}
			for _, id := range spares { // claimed or not, it was nobody's before the report
				if id != got.SandboxID {
					s.waitGone(id)
				}
			}
			if got.Status == godo.HostedAgentSessionStatusReady {
				s.waitExec(sess.SessionID, "echo alive", "alive\n")
			}
			if text := s.turn(sess.SessionID, "hello"); !strings.HasPrefix(text, "turn 1: ") {
				t.Errorf("the agent said %q", text)
			}
			assertLog(t, s.history(sess.SessionID))
		})
	}
}

func pause(s *server, id string) {
	_, _ = s.client().HostedAgents.PauseSession(context.Background(), id)
}

func pauseAndResume(s *server, id string) {
	pause(s, id)
	_, _ = s.client().HostedAgents.ResumeSession(context.Background(), id)
}

// An event that was committed but not yet published when the server died is read
// by whoever resumes, once.
func TestServerKilledBetweenCommitAndPublish(t *testing.T) {
	s := startServer(t)
	id := s.create("agent: demo\n").SessionID
	last := s.history(id)
	cursor := last[len(last)-1].EventID
	s.kill()
	s.env = []string{"PADDOCK_FAILPOINT=engine.committed"}
	s.start()
	s.waitServing()
	_, _, _ = s.client().HostedAgents.SendInput(context.Background(), id, &godo.HostedAgentSendInputRequest{Text: "hello"})
	<-s.done
	s.restart()
	st, _, err := s.client().HostedAgents.StreamSession(context.Background(), id, &godo.HostedAgentSessionStreamOptions{ReplayFrom: cursor})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	seq := last[len(last)-1].Seq
	for st.Next() {
		e := st.Current()
		if e.Kind == godo.HostedAgentEventKindStreamState {
			continue
		}
		if seq++; e.Seq != seq {
			t.Fatalf("got seq %d, want %d", e.Seq, seq)
		}
		if e.Kind == godo.HostedAgentEventKindRunCompleted {
			return
		}
	}
	t.Fatalf("the stream ended: %v", st.Err())
}
