package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/digitalocean/godo"

	"paddock/e2e/host"
)

// minute is the shortest idle timeout that may be asked for.
const minute = "idle_timeout: 1m\n"

// lateness is how much later than its time an idle pause may come: the clock is
// looked at each second, a killed server's last activity is known to ten, and
// this host may be busy.
const lateness = 25 * time.Second

// by is the same server in the eyes of a test beside others.
func (s *server) by(t *testing.T) *server {
	same := *s
	same.t = t
	return &same
}

// pauses gives the times and reasons of a session's pauses, from its history.
func (s *server) pauses(id string) (at []time.Time, reasons []string) {
	s.t.Helper()
	for _, e := range s.history(id) {
		if e.Kind != godo.HostedAgentEventKindSessionUpdated {
			continue
		}
		if p := payload[struct {
			Status string
			Reason string `json:"pause_reason"`
		}](s.t, e); p.Status == "SESSION_STATUS_PAUSED" {
			at, reasons = append(at, e.At.Time), append(reasons, p.Reason)
		}
	}
	return at, reasons
}

// assertIdle waits until the session pauses for being idle, and asserts that it
// did so a minute after its last activity, within [since, until].
func (s *server) assertIdle(t *testing.T, id string, since, until time.Time) {
	t.Helper()
	slow := time.After(3 * time.Minute)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for s.get(id).Status != godo.HostedAgentSessionStatusPaused {
		select {
		case <-tick.C:
		case <-slow:
			t.Fatalf("session %s does not pause", id)
		}
	}
	at, reasons := s.pauses(id)
	if len(at) != 1 || reasons[0] != "idle" || at[0].Before(since.Add(time.Minute)) || at[0].After(until.Add(time.Minute+lateness)) {
		t.Errorf("paused %v for %v; the last activity was between %s and %s", at, reasons, since, until)
	}
}

// staysAwake asserts that the session has not paused until a moment.
func (s *server) staysAwake(t *testing.T, id string, until time.Time) {
	t.Helper()
	<-time.After(time.Until(until)) // that nothing happens takes this long
	if at, reasons := s.pauses(id); len(at) > 0 {
		t.Errorf("paused %v for %v", at, reasons)
	}
}

// Everything that holds a session awake, or does not, by the least timeout there
// is. All of it waits side by side.
func TestIdlePause(t *testing.T) {
	t.Parallel() // it has a server of its own
	s := startServer(t)
	ctx, c := context.Background(), s.client()
	// No parallel subtests: of these only as many run at once as there are CPUs,
	// and these here only wait. FailNow ends the part's own goroutine.
	var all sync.WaitGroup
	for name, part := range map[string]func(t *testing.T, s *server){
		"nobody comes; an open stream and lookers do not count": func(t *testing.T, s *server) {
			began := time.Now()
			sess := s.create("agent: demo\n" + minute)
			ready := time.Now()
			stream, _, err := c.HostedAgents.StreamSession(ctx, sess.SessionID, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer stream.Close()
			s.assertIdle(t, sess.SessionID, began, ready)
			s.assertFrozen(sess.SandboxID)
			if got := s.turn(sess.SessionID, "hello"); !strings.HasPrefix(got, "turn 1: ") {
				t.Errorf("the agent said %q", got)
			}
		},
		"a call counts from its end": func(t *testing.T, s *server) {
			id := s.create("agent: none\n" + minute).SessionID
			since := time.Now()
			s.sh(id, "sleep 20")
			s.assertIdle(t, id, since.Add(20*time.Second), time.Now())
		},
		"a detached exec does not count": func(t *testing.T, s *server) {
			id := s.create("agent: none\n" + minute).SessionID
			since := time.Now()
			s.sh(id, "nohup sleep 400 >/dev/null 2>&1 & true")
			s.assertIdle(t, id, since, time.Now())
		},
		"an attached exec holds": func(t *testing.T, s *server) {
			id := s.create("agent: none\n" + minute).SessionID
			r, _ := s.execWith(id, map[string]any{"argv": []string{"sleep", "75"}, "timeout_seconds": 100})
			if r.ExitCode != 0 || r.TimedOut {
				t.Errorf("%+v", r)
			}
			s.staysAwake(t, id, time.Now())
		},
		"a file in flight holds": func(t *testing.T, s *server) {
			id := s.create("agent: none\n" + minute).SessionID
			s.sh(id, "head -c 33554432 /dev/zero > big")
			until := time.Now().Add(75 * time.Second)
			req, _ := http.NewRequest(http.MethodGet, "http://"+s.addr+"/v2/harness-runtime/sessions/"+id+"/files/content?path=big", nil)
			req.Header.Set("Authorization", "Bearer "+token)
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			for time.Now().Before(until) { // slowly, but never silent
				if _, err := io.CopyN(io.Discard, resp.Body, 128<<10); err != nil {
					t.Fatal(err)
				}
				<-time.After(500 * time.Millisecond)
			}
			s.staysAwake(t, id, until)
		},
		"a run that waits for a person holds": func(t *testing.T, s *server) {
			id := s.create("agent: demo\npermissions: {default: ask}\n" + minute).SessionID
			s.waitAsk(id, s.send(id, "run echo hi"))
			s.staysAwake(t, id, time.Now().Add(75*time.Second))
		},
		"keep_warm": func(t *testing.T, s *server) {
			id := s.create("agent: none\nkeep_warm: true\n" + minute).SessionID
			s.staysAwake(t, id, time.Now().Add(75*time.Second))
			_, err := c.HostedAgents.PauseSession(ctx, id)
			wantRefusal(t, err, http.StatusConflict, "keep_warm")
		},
		"the time goes on over a killed server": func(t *testing.T, s *server) {
			s = startServer(t)
			id := s.create("agent: none\n" + minute).SessionID
			since := time.Now()
			s.sh(id, "true")
			until := time.Now()
			<-time.After(time.Until(since.Add(35 * time.Second))) // more than half of it passes
			s.kill()
			s.restart()
			s.assertIdle(t, id, since, until)
		},
	} {
		all.Go(func() {
			done := false
			defer func() {
				if !done {
					t.Errorf("%s: failed", name)
				}
			}()
			part(t, s)
			done = true
		})
	}
	all.Wait()
}

// The clock inside is right before the first call after a pause is answered.
func TestClockAfterAPause(t *testing.T) {
	s := startServer(t)
	id := s.create("agent: none\n").SessionID
	for range 3 {
		pause(s, id)
		<-time.After(2 * time.Second) // the pause's length
		before := time.Now()
		text := strings.TrimSpace(s.sh(id, "date +%s.%N"))
		after := time.Now()
		seconds, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		const exact = 500 * time.Millisecond
		if at := time.UnixMicro(int64(seconds * 1e6)); at.Before(before.Add(-exact)) || at.After(after.Add(exact)) {
			t.Errorf("the clock inside says %s, between %s and %s", at, before, after)
		}
	}
}

// Many callers of all kinds find the session paused: it resumes once, and all of
// them are served.
func TestManyWakeASessionAtOnce(t *testing.T) {
	s := startServer(t)
	id := s.create("agent: demo\n").SessionID
	s.sh(id, "echo content > f; sleep 600 >/dev/null 2>&1 & echo $! > pid")
	for range 3 {
		pause(s, id)
		before := len(s.history(id))
		failures := make(chan error, 12)
		for i := range 12 {
			go func() { failures <- s.wakeBy(id, i%4) }()
		}
		for range 12 {
			if err := <-failures; err != nil {
				t.Error(err)
			}
		}
		ready := 0
		for _, e := range s.history(id)[before:] {
			if e.Kind == godo.HostedAgentEventKindSessionUpdated {
				ready++
			}
		}
		if ready != 1 {
			t.Errorf("the session changed its status %d times", ready)
		}
		s.sh(id, "kill -0 $(cat pid)")
		eventually(t, "its runs are over", func() bool { // else the next pause would wait for them
			return !slices.ContainsFunc(s.runsOf(id), func(r loadRun) bool { return !r.ended() })
		})
	}
	assertLog(t, s.history(id))
}

// wakeBy makes one of the calls that resume a paused session.
func (s *server) wakeBy(id string, kind int) error {
	c, ctx := s.client(), context.Background()
	switch kind {
	case 0:
		out, _, err := c.HostedAgents.ExecInSandbox(ctx, id, &godo.HostedAgentSandboxExecRequest{Argv: []string{"cat", "f"}})
		if err == nil && out.Stdout != "content\n" {
			err = fmt.Errorf("exec says %q", out.Stdout)
		}
		return err
	case 1:
		return s.fetch("/sessions/"+id+"/files", `"f"`)
	case 2:
		return s.fetch("/sessions/"+id+"/files/content?path=f", "content")
	default:
		_, _, err := c.HostedAgents.SendInput(ctx, id, &godo.HostedAgentSendInputRequest{Text: "hello"})
		return err
	}
}

// fetch gets what has to contain part.
func (s *server) fetch(path, part string) error {
	status, body := s.request(http.MethodGet, path, "")
	if status != http.StatusOK || !strings.Contains(body, part) {
		return fmt.Errorf("%s: %d %s", path, status, body)
	}
	return nil
}

// request makes a call with JSON and gives its answer; status 0 when there was
// none, and body then says why.
func (s *server) request(method, path, in string) (status int, body string) {
	req, err := http.NewRequest(method, "http://"+s.addr+"/v2/harness-runtime"+path, strings.NewReader(in))
	if err != nil {
		return 0, err.Error()
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if in != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(b)
}

// Root inside may stop or hide the guest as it likes: calls are answered in time,
// with an error or not, and the session is paused, resumed and removed.
func TestGuestStoppedByRoot(t *testing.T) {
	t.Parallel() // it has a server of its own
	s := startServer(t)
	sess := s.create("agent: demo\n")
	id := sess.SessionID
	began := time.Now()
	s.request(http.MethodPost, "/sessions/"+id+"/sandbox/exec", `{"argv": ["sh", "-c", "kill -STOP 1; true"], "user": "root"}`)
	if took := time.Since(began); took > 60*time.Second {
		t.Errorf("the exec took %s", took)
	}
	pids := host.Processes(sess.SandboxID)
	for _, verb := range []string{"pause", "resume"} {
		began := time.Now()
		s.call(http.MethodPost, "/sessions/"+id+"/"+verb, nil, http.StatusNoContent, nil)
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%s took %s", verb, took)
		}
	}
	if now := host.Processes(sess.SandboxID); fmt.Sprint(now) != fmt.Sprint(pids) {
		t.Errorf("the host's processes were %v, are %v", pids, now)
	}
	if _, err := s.client().HostedAgents.DestroySession(context.Background(), id); err != nil {
		t.Fatal(err)
	}
	s.waitStatus(id, godo.HostedAgentSessionStatusDestroyed)
	s.assertGone(sess.SandboxID)
}
