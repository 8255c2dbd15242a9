package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/digitalocean/godo"
	"golang.org/x/sys/unix"
)

// approvals are those of all sessions.
func (s *server) approvals(query string) (list []struct {
	RequestID   string `json:"request_id"`
	SessionName string `json:"session_name"`
	State       string
	Deadline    time.Time
	Details     struct{ Command string }
}) {
	s.t.Helper()
	var out struct{ Approvals any }
	out.Approvals = &list
	s.call(http.MethodGet, "/approvals"+query, nil, http.StatusOK, &out)
	return list
}

// decide answers with what godo has no words for.
func (s *server) decide(id, hitl string, answer map[string]any) {
	s.t.Helper()
	answer["outcome"] = "HITL_OUTCOME_APPROVE"
	s.call(http.MethodPost, "/sessions/"+id+"/hitl/"+hitl, answer, http.StatusNoContent, nil)
}

// Several wait at once, over a killed server and a cut connection; one
// is approved as edited, one refused, and each takes one answer.
func TestSeveralApprovalsWait(t *testing.T) {
	s := startServer(t)
	id := s.create("agent: demo\nname: several\napprovals: {timeout: 1h}\n").SessionID
	run := s.send(id, "together echo one > one ; echo two > two ; echo three > three")
	eventually(t, "all three wait", func() bool { return len(s.approvals("")) == 3 })
	s.kill()
	s.restart()
	waiting := map[string]string{}
	for _, a := range s.approvals("?state=pending") {
		if left := time.Until(a.Deadline); a.SessionName != "several" || left < 50*time.Minute || left > time.Hour {
			t.Fatalf("listed is %+v", a)
		}
		waiting[strings.Fields(a.Details.Command)[1]] = a.RequestID
	}
	s.waitExec(id, "echo up", "up\n") // the guest is back
	s.cutControl()
	if err := s.answer(id, waiting["one"], godo.HostedAgentHITLOutcomeReject, nil); err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, s.answer(id, waiting["one"], godo.HostedAgentHITLOutcomeApprove, nil), http.StatusConflict, "already rejected")
	s.decide(id, waiting["two"], map[string]any{"input": map[string]string{"command": "echo edited > two"}})
	s.kill()
	s.restart()
	if err := s.answer(id, waiting["three"], godo.HostedAgentHITLOutcomeApprove, nil); err != nil {
		t.Fatal(err)
	}
	if end := s.waitRun(id, run); end.Kind != godo.HostedAgentEventKindRunCompleted {
		t.Fatalf("the run ended as %s %s", end.Kind, end.Payload)
	}
	if got := s.sh(id, "cat one two three 2>/dev/null || true"); got != "edited\nthree\n" {
		t.Errorf("what was done: %q", got)
	}
	events := s.history(id)
	assertLog(t, events)
	if asked, answered := count(events, run, godo.HostedAgentEventKindHITLRequested), count(events, run, godo.HostedAgentEventKindHITLResolved); asked != 3 || answered != 3 {
		t.Errorf("%d questions, %d answers", asked, answered)
	}
}

// cutControl shuts down, from outside, every connection that the server has over
// a unix socket: the control connections of its sandboxes.
func (s *server) cutControl() {
	s.t.Helper()
	pid := s.cmd.Process.Pid
	process, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	defer unix.Close(process)
	names, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		s.t.Fatal(err)
	}
	cut := 0
	for _, name := range names {
		number, err := strconv.Atoi(name.Name())
		if err != nil {
			s.t.Fatal(err)
		}
		fd, err := unix.PidfdGetfd(process, number, 0)
		if err != nil {
			continue // closed meanwhile
		}
		if _, err := unix.Getpeername(fd); err == nil {
			if local, err := unix.Getsockname(fd); err == nil {
				if _, ok := local.(*unix.SockaddrUnix); ok && unix.Shutdown(fd, unix.SHUT_RDWR) == nil {
					cut++
				}
			}
		}
		_ = unix.Close(fd)
	}
	if cut == 0 {
		s.t.Fatal("the server has no control connection")
	}
}

// At the deadline it is decided as the spec says.
func TestApprovalTimeout(t *testing.T) {
	s := startServer(t)
	for onTimeout, want := range map[string]godo.HostedAgentHITLOutcome{"reject": godo.HostedAgentHITLOutcomeReject, "approve": godo.HostedAgentHITLOutcomeApprove} {
		t.Run(onTimeout, func(t *testing.T) {
			id := s.create("agent: demo\napprovals: {timeout: 2s, on_timeout: " + onTimeout + "}\n").SessionID
			run := s.send(id, "run echo late > made.txt")
			if end := s.waitRun(id, run); end.Kind != godo.HostedAgentEventKindRunCompleted {
				t.Fatalf("the run ended as %s %s", end.Kind, end.Payload)
			}
			got := payload[struct {
				Outcome       godo.HostedAgentHITLOutcome
				Actor, Reason string
			}](t, s.waitEvent(id, func(e godo.HostedAgentEvent) bool {
				return e.RunID == run && e.Kind == godo.HostedAgentEventKindHITLResolved
			}))
			if got.Outcome != want || got.Actor != "paddock" || !strings.Contains(got.Reason, "deadline passed") {
				t.Errorf("decided as %+v", got)
			}
			if code, _, _ := s.exec(id, "test", "-e", "made.txt"); (code == 0) != (onTimeout == "approve") {
				t.Errorf("test -e made.txt: %d", code)
			}
		})
	}
}

// What was approved for the rest of the session passes, over a restart and a
// pause, and nothing else does; once revoked it is asked again.
func TestForTheRestOfTheSession(t *testing.T) {
	s := startServer(t)
	id := s.create("agent: demo\nname: rest\n").SessionID
	const command = "run echo x >> made.txt"
	run := s.send(id, command)
	s.decide(id, s.waitAsk(id, run).HITLID, map[string]any{"for_session": true})
	s.waitRun(id, run)
	if _, err := s.client().HostedAgents.PauseSession(context.Background(), id); err != nil {
		t.Fatal(err)
	}
	s.kill()
	s.restart()
	run = s.send(id, command)
	s.waitRun(id, run) // nobody answers
	if got := s.sh(id, "cat made.txt"); got != "x\nx\n" {
		t.Errorf("made.txt is %q", got)
	}
	for _, e := range s.history(id) {
		if e.RunID == run && (e.Kind == godo.HostedAgentEventKindHITLRequested || e.Kind == godo.HostedAgentEventKindHITLResolved) {
			t.Errorf("nobody was asked, but the history has %s %s", e.Kind, e.Payload)
		}
	}
	type allowed struct {
		Message string
		Fields  struct {
			GrantID string `json:"grant_id"`
			Detail  string
		}
	}
	decided := payload[allowed](t, s.waitEvent(id, func(e godo.HostedAgentEvent) bool {
		return e.RunID == run && e.Kind == godo.HostedAgentEventKindRunLog && payload[allowed](t, e).Fields.GrantID != ""
	}))
	grant := decided.Fields.GrantID
	out, errs, _ := s.cli("grant", "list", "rest")
	if decided.Fields.Detail != "echo x >> made.txt" || !strings.Contains(out, grant) {
		t.Errorf("decided by %+v; listed are %s%s", decided, out, errs)
	}
	if out, _, _ := s.cli("transcript", "rest"); !strings.Contains(out, "`allowed by "+grant+": ") || strings.Contains(out, "```\n```") {
		t.Errorf("the transcript is\n%s", out)
	}
	if all := s.approvals("?state=all"); len(all) != 1 || all[0].State != "approved" {
		t.Errorf("people were asked %+v", all)
	}
	run = s.send(id, command+"; echo y >> made.txt")
	hitl := s.waitAsk(id, run).HITLID
	for i, want := range []string{"rejected: run ", "It was answered already, and that stands: rejected by "} {
		out, errs, code := s.cli("approval", "reject", id, hitl, "--reason", fmt.Sprint("reason", i))
		if code != 0 || !strings.HasPrefix(out, want) || i == 1 && !strings.Contains(out, "reason0") {
			t.Errorf("rejected for the %d. time: %d: %s%s", i+1, code, out, errs)
		}
	}
	s.waitRun(id, run)
	for _, want := range []string{"asks again", "was revoked already"} {
		if out, errs, code := s.cli("grant", "revoke", "rest", grant); code != 0 || !strings.Contains(out, want) {
			t.Fatal(code, out, errs)
		}
	}
	run = s.send(id, command)
	s.waitAsk(id, run)
	s.cancel(id, run)
	s.waitRun(id, run)
	assertLog(t, s.history(id))
}

// A stream that attaches while a question waits is given it, however much was
// said since.
func TestLateStreamIsAsked(t *testing.T) {
	s := startServer(t)
	id := s.create("agent: demo\n").SessionID
	run := s.send(id, "together echo 1 ; seq 1 2000")
	eventually(t, "both wait", func() bool { return len(s.approvals("")) == 2 })
	list := s.approvals("")
	st, _, err := s.client().HostedAgents.StreamSession(context.Background(), id, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	asked := map[string]bool{}
	for len(asked) < 2 && st.Next() {
		if e := st.Current(); e.Kind == godo.HostedAgentEventKindHITLRequested {
			asked[payload[struct {
				HITLID string `json:"hitl_id"`
			}](t, e).HITLID] = true
		}
	}
	if !asked[list[0].RequestID] || !asked[list[1].RequestID] {
		t.Errorf("the stream gave %v: %v", asked, st.Err())
	}
	s.cancel(id, run)
	s.waitRun(id, run)
	if left := s.approvals(""); len(left) != 0 {
		t.Errorf("after the cancel there wait %+v", left)
	}
	if all := s.approvals("?state=all"); len(all) != 2 || all[0].State != "expired" {
		t.Errorf("listed are %+v", all)
	}
}

// A stream of all sessions that attaches late is asked what waits in any, though
// much has happened since elsewhere.
func TestLateStreamOfAllSessionsIsAsked(t *testing.T) {
	s := startServer(t)
	asking := s.create("agent: demo\n").SessionID
	run := s.send(asking, "run echo hello")
	a := s.waitAsk(asking, run)
	talking := s.create("agent: demo\npermissions: {default: allow}\n").SessionID
	for len(s.history(talking)) < 220 { // more than a stream begins with
		s.turn(talking, "together "+strings.Repeat("true ; ", 40)+"true")
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	frames, err := s.stream(ctx, "/events", "")
	if err != nil {
		t.Fatal(err)
	}
	first, err := next(frames)
	if err != nil {
		t.Fatal(err)
	}
	if first.Kind != godo.HostedAgentEventKindHITLRequested || first.SessionID != asking || !strings.Contains(string(first.Payload), a.HITLID) {
		t.Errorf("the stream began with %s %s", first.Kind, first.Payload)
	}
	s.cancel(asking, run)
	s.waitRun(asking, run)
}
