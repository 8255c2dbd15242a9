package e2e

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/digitalocean/godo"

	"paddock/e2e/host"
)

// busy starts a process in the machine that burns CPU and returns its pid there.
func (s *server) busy(id string) string {
	s.t.Helper()
	s.sh(id, "nohup sh -c 'while :; do :; done' >/dev/null 2>&1 & echo $! > busy.pid")
	return strings.TrimSpace(s.sh(id, "cat busy.pid"))
}

// machineTree gives the host processes of a sandbox.
func machineTree(sandbox string) []int { return host.Tree(host.Processes(sandbox)...) }

// burns says whether the machine uses CPU now: ticks over a while, by the host.
func (s *server) ticksOver(sandbox string, d time.Duration) int64 {
	s.t.Helper()
	pids := machineTree(sandbox)
	if len(pids) == 0 {
		s.t.Fatalf("no host process names sandbox %s", sandbox)
	}
	before := host.Ticks(pids...)
	<-time.After(d) // measuring takes time: this waits for nothing
	return host.Ticks(pids...) - before
}

// assertFrozen asserts that a paused machine uses no CPU, as soon as its files are
// saved.
func (s *server) assertFrozen(sandbox string) {
	s.t.Helper()
	eventually(s.t, "paused machine "+sandbox+" uses no CPU", func() bool { return s.ticksOver(sandbox, time.Second) <= 2 })
}

func TestPauseFreezesInPlace(t *testing.T) {
	s := startServer(t)
	ctx, c := context.Background(), s.client()
	sess := s.create("agent: demo\n")
	id := sess.SessionID
	s.turn(id, "hello")
	pid := s.busy(id)
	if n := s.ticksOver(sess.SandboxID, time.Second); n < 20 {
		t.Fatalf("the busy machine used %d ticks in a second", n)
	}
	if _, err := c.HostedAgents.PauseSession(ctx, id); err != nil {
		t.Fatal(err)
	}
	paused := s.get(id)
	if paused.Status != godo.HostedAgentSessionStatusPaused || paused.PauseReason != godo.HostedAgentSessionPauseReasonManual {
		t.Errorf("paused session is %s (%s)", paused.Status, paused.PauseReason)
	}
	s.assertFrozen(sess.SandboxID)
	_, err := c.HostedAgents.PauseSession(ctx, id)
	wantRefusal(t, err, http.StatusConflict, "paused already")
	if got := s.turn(id, "hello"); !strings.HasPrefix(got, "turn 2: ") { // input resumes
		t.Errorf("the turn after the pause: %q", got)
	}
	if now := strings.TrimSpace(s.sh(id, "cat busy.pid; kill -0 $(cat busy.pid)")); now != pid {
		t.Errorf("the busy process is %s, was %s", now, pid)
	}
	if n := s.ticksOver(sess.SandboxID, time.Second); n < 20 {
		t.Errorf("the resumed machine used %d ticks in a second", n)
	}
	if _, err := c.HostedAgents.PauseSession(ctx, id); err != nil {
		t.Fatal(err)
	}
	if got := s.sh(id, "kill -0 $(cat busy.pid); date +%s"); got == "" { // exec resumes
		t.Error("no answer")
	}
	if st := s.get(id).Status; st != godo.HostedAgentSessionStatusReady {
		t.Errorf("after exec the session is %s", st)
	}
	_, err = c.HostedAgents.ResumeSession(ctx, id)
	wantRefusal(t, err, http.StatusConflict, "not paused")
}

func TestPauseWaitsForTheBoundary(t *testing.T) {
	s := startServer(t)
	ctx, c := context.Background(), s.client()
	id := s.create("agent: demo\n").SessionID
	run := s.send(id, "slow 5")
	queued := s.send(id, "hello")
	for range 2 {
		var out struct{ Pending bool }
		s.call(http.MethodPost, "/sessions/"+id+"/pause", nil, http.StatusAccepted, &out)
		if !out.Pending {
			t.Error("the pause is not pending")
		}
	}
	s.waitRun(id, run)
	s.waitStatus(id, godo.HostedAgentSessionStatusPaused)
	for _, e := range s.history(id) {
		if e.RunID == queued {
			t.Errorf("the queued run has %s before the session is resumed", e.Kind)
		}
	}
	if _, err := c.HostedAgents.ResumeSession(ctx, id); err != nil {
		t.Fatal(err)
	}
	if end := s.waitRun(id, queued); end.Kind != godo.HostedAgentEventKindRunCompleted {
		t.Errorf("the queued run ended as %s", end.Kind)
	}
	run = s.send(id, "slow 5")
	if _, err := c.HostedAgents.PauseSession(ctx, id); err != nil {
		t.Fatal(err)
	}
	if _, err := c.HostedAgents.ResumeSession(ctx, id); err != nil { // takes it back
		t.Fatal(err)
	}
	s.waitRun(id, run)
	if st := s.get(id).Status; st != godo.HostedAgentSessionStatusReady {
		t.Errorf("after a pause was taken back the session is %s", st)
	}
	assertLog(t, s.history(id))
}

func TestExecAcrossAPause(t *testing.T) {
	s := startServer(t)
	ctx, c := context.Background(), s.client()
	id := s.create("agent: none\n").SessionID
	type answer struct {
		code int
		out  string
	}
	done := make(chan answer, 1)
	go func() {
		code, out, _ := s.exec(id, "sh", "-c", "touch began; while [ ! -e go ]; do sleep 0.05; done; echo through")
		done <- answer{code, out}
	}()
	s.waitExec(id, "ls began", "began\n")
	if _, err := c.HostedAgents.PauseSession(ctx, id); err != nil {
		t.Fatal(err)
	}
	if _, err := c.HostedAgents.ResumeSession(ctx, id); err != nil {
		t.Fatal(err)
	}
	s.sh(id, "touch go")
	if a := <-done; a.code != 0 || a.out != "through\n" {
		t.Errorf("exec across a pause: %+v", a)
	}
}
