package e2e

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/digitalocean/godo"
)

// wantCancelled asserts that a run ends as cancelled, and within 10 s of began.
func (s *server) wantCancelled(id, run string, began time.Time) {
	s.t.Helper()
	f := payload[failed](s.t, s.waitRun(id, run))
	if took := time.Since(began); took > 10*time.Second {
		s.t.Errorf("the cancelled run ended after %s", took)
	}
	if !f.Cancelled || f.Code != 7 || f.Terminal || !strings.HasPrefix(f.Message, "cancelled by ") {
		s.t.Errorf("cancelled run: %+v", f)
	}
}

// waitSpoken waits until the agent has said something in a run.
func (s *server) waitSpoken(id, run string) {
	s.t.Helper()
	s.waitEvent(id, func(e godo.HostedAgentEvent) bool {
		return e.RunID == run && e.Kind == godo.HostedAgentEventKindTokenChunk
	})
}

// A cancel kills all that its turn has started, however it hides, and nothing
// else, by the sandbox's own account and by the host's.
func TestCancelKillsTheWholeTree(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	sess := s.create("agent: demo\npermissions: {default: allow}\n")
	id := sess.SessionID
	s.turn(id, "run setsid sh -c 'while :; do sleep 1; echo x >> alive; done' >/dev/null 2>&1 & sleep 91000 >/dev/null 2>&1 &")
	s.sh(id, "setsid sleep 91001 >/dev/null 2>&1 &")
	run := s.send(id, strings.Join([]string{
		`run setsid env -i /bin/sh -c 'trap "" TERM INT HUP QUIT; while :; do :; done' &`,
		`nohup sleep 91002 >/dev/null 2>&1 &`,
		`(setsid sleep 91003 & ) ;`,
		`( ( sleep 91004 & ) & ) ;`,
		`setsid setsid sh -c 'trap "" TERM; sleep 91005; sleep 91006' &`,
		`sleep 91007`,
	}, " "))
	hidden := []string{"sleep 91002", "sleep 91003", "sleep 91004", "sleep 91005", "sleep 91007"}
	for _, p := range hidden {
		s.waitProcesses(id, p, "1")
	}
	if n := s.ticksOver(sess.SandboxID, time.Second); n < 20 {
		t.Errorf("the turn burns %d ticks in a second", n)
	}
	began := time.Now()
	if got := s.cancel(id, run); got != "acked" {
		t.Errorf("cancel: %s", got)
	}
	s.wantCancelled(id, run, began)
	for _, p := range append(hidden, "sleep 91006") {
		if n := s.sh(id, countProcesses(p)); n != "0\n" {
			t.Errorf("%s processes %q live after the end of their run", strings.TrimSpace(n), p)
		}
	}
	if n := s.ticksOver(sess.SandboxID, time.Second); n > 15 {
		t.Errorf("after the cancel the machine burns %d ticks in a second", n)
	}
	for _, p := range []string{"sleep 91000", "sleep 91001"} {
		if n := s.sh(id, countProcesses(p)); n != "1\n" {
			t.Errorf("%s processes %q, of before, live", strings.TrimSpace(n), p)
		}
	}
	lines := s.sh(id, "wc -l < alive")
	s.waitExec(id, "[ $(wc -l < alive) -gt "+strings.TrimSpace(lines)+" ] && echo goes on", "goes on\n")
	if got := s.turn(id, "hello"); !strings.HasPrefix(got, "turn 3: ") {
		t.Errorf("the turn after: %q", got)
	}
}

// countProcesses is a shell line that counts the processes with exactly this
// command line.
func countProcesses(cmdline string) string {
	return `for f in /proc/[0-9]*/cmdline; do [ "$(tr '\0' ' ' < $f)" = '` + cmdline + ` ' ] && echo x; done 2>/dev/null | wc -l`
}

func TestCancelInEachPhase(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	id := s.create("agent: demo\n").SessionID
	for name, run := range map[string]func() string{
		"just sent": func() string { return s.send(id, "slow 500") },
		"asking": func() string {
			run := s.send(id, "run echo never")
			s.waitAsk(id, run)
			return run
		},
		"speaking":          func() string { run := s.send(id, "slow 500"); s.waitSpoken(id, run); return run },
		"not to be stopped": func() string { run := s.send(id, "stubborn 500"); s.waitSpoken(id, run); return run },
		"ends by itself":    func() string { run := s.send(id, "stubborn 8"); s.waitSpoken(id, run); return run },
		"queued": func() string {
			first := s.send(id, "slow 500")
			run := s.send(id, "hello")
			defer s.cancel(id, first)
			if got := s.cancel(id, run); got != "acked" {
				t.Errorf("cancel of a queued run: %s", got)
			}
			return run
		},
	} {
		r := run()
		began := time.Now()
		if got := s.cancel(id, r); got != "acked" && name != "queued" {
			t.Errorf("%s: cancel met %s", name, got)
		}
		s.wantCancelled(id, r, began)
	}

	// One that comes after the end changes nothing, and says so.
	run := s.send(id, "hello")
	s.waitRun(id, run)
	if got := s.cancel(id, run); got != "no_turn" {
		t.Errorf("cancel after the end: %s", got)
	}
	if r := s.run(id, run); r.State != "RUN_STATE_COMPLETED" {
		t.Errorf("the completed run is %s", r.State)
	}

	// With a pause pending: the pause follows.
	run = s.send(id, "slow 500")
	s.waitSpoken(id, run)
	pause(s, id)
	began := time.Now()
	s.cancel(id, run)
	s.wantCancelled(id, run, began)
	s.waitStatus(id, godo.HostedAgentSessionStatusPaused)
	if _, err := s.client().HostedAgents.ResumeSession(context.Background(), id); err != nil {
		t.Fatal(err)
	}
	s.turn(id, "hello")
	assertLog(t, s.history(id))
}

// A cancel that was accepted is carried out by the next server, under the name
// of who asked; a turn that was given when the server died is not given again.
func TestServerKilledAroundATurn(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	id := s.create("agent: demo\n").SessionID
	armed := func(place string) {
		s.kill()
		s.env = []string{"PADDOCK_FAILPOINT=" + place}
		s.start()
		s.waitServing()
	}
	armed("turn.given")
	_, _, _ = s.client().HostedAgents.SendInput(context.Background(), id, &godo.HostedAgentSendInputRequest{Text: "hello"})
	<-s.done
	s.restart()
	given := s.waitEvent(id, func(e godo.HostedAgentEvent) bool { return e.Kind == godo.HostedAgentEventKindRunStarted }).RunID
	if end := s.waitRun(id, given); end.Kind != godo.HostedAgentEventKindRunCompleted || !strings.HasPrefix(s.said(id, given), "turn 1: ") {
		t.Errorf("the run ended as %s, the agent said %q", end.Kind, s.said(id, given))
	}

	armed("cancel.noted")
	run := s.send(id, "slow 1000")
	behind := s.send(id, "hello")
	s.waitSpoken(id, run)
	req, _ := http.NewRequest(http.MethodPost, "http://"+s.addr+"/v2/harness-runtime/sessions/"+id+"/cancel", nil)
	req.Header.Set("Authorization", "Bearer "+token)
	if resp, err := http.DefaultClient.Do(req); err == nil {
		_ = resp.Body.Close()
	}
	<-s.done
	s.restart()
	s.wantCancelled(id, run, time.Now())
	if end := s.waitRun(id, behind); end.Kind != godo.HostedAgentEventKindRunCompleted {
		t.Errorf("the queued run ended as %s", end.Kind)
	}
	events := s.history(id)
	assertLog(t, events)
	if n := count(events, given, godo.HostedAgentEventKindRunStarted); n != 1 || !strings.HasPrefix(s.said(id, behind), "turn 3: ") {
		t.Errorf("started %d times; the agent said last %q", n, s.said(id, behind))
	}
}
