package e2e

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/digitalocean/godo"
)

// runObject is a run as the API tells it.
type runObject struct {
	State     string
	Text      string
	StartedAt string `json:"started_at"`
	EndedAt   string `json:"ended_at"`
	TokensIn  int64  `json:"total_tokens_in"`
	TokensOut int64  `json:"total_tokens_out"`
	Failure   *failed
}

func (s *server) run(id, run string) runObject {
	s.t.Helper()
	var out struct{ Run runObject }
	s.call(http.MethodGet, "/sessions/"+id+"/runs/"+run, nil, http.StatusOK, &out)
	return out.Run
}

// Each class of failure has its code, ends the conversation, and is told alike
// by the event, the run and the session.
func TestFailureClasses(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	const demo = "agent: demo\npermissions: {default: allow}\n"
	for name, c := range map[string]struct {
		spec, input, message string
		code                 int
	}{
		"model error":   {demo, "model-error the key is wrong", "the key is wrong", 1},
		"model timeout": {demo, "model-timeout no answer", "no answer", 2},
		"tool error":    {demo, "fail the moon is wrong", "the moon is wrong", 3},
		"agent died":    {demo, "crash", "agent exited with code 3: crashing as asked", 7},
		"exits":         {"agent: custom\ncommand: [sh, -c, 'echo oh no >&2; exit 9']\n", "hello", "agent did not start: agent exited with code 9: oh no", 7},
		"not there":     {"agent: custom\ncommand: [no-such-agent]\n", "hello", `"no-such-agent" was not found`, 7},
		"says nothing":  {"agent: custom\ncommand: [sleep, '97531']\nmax_run_time: 2s\n", "hello", "max_run_time", 6},
		"too long":      {demo + "max_run_time: 2s\n", "run setsid sleep 97532 & sleep 97533", "max_run_time", 6},
	} {
		sess := s.create(c.spec)
		id := sess.SessionID
		run := s.send(id, c.input)
		f := payload[failed](t, s.waitRun(id, run))
		if f.Code != c.code || !f.Terminal || f.Cancelled || !strings.Contains(f.Message, c.message) {
			t.Errorf("%s: failed with %+v", name, f)
		}
		r := s.run(id, run)
		if r.State != "RUN_STATE_FAILED" || r.Failure == nil || r.Failure.Code != c.code || r.Failure.Name != f.Name || !r.Failure.Terminal ||
			r.Text != c.input || r.StartedAt == "" || r.EndedAt == "" {
			t.Errorf("%s: run is %+v, %+v", name, r, r.Failure)
		}
		var got struct {
			Session struct {
				AcceptsInput bool `json:"accepts_input"`
				Terminal     string
			}
		}
		s.call(http.MethodGet, "/sessions/"+id, nil, http.StatusOK, &got)
		if got.Session.AcceptsInput || got.Session.Terminal != f.Message {
			t.Errorf("%s: session is %+v", name, got.Session)
		}
		_, _, err := s.client().HostedAgents.SendInput(context.Background(), id, &godo.HostedAgentSendInputRequest{Text: "hi"})
		wantRefusal(t, err, http.StatusConflict, "run is terminal: "+strings.TrimSuffix(f.Message, ".")+"; start a new session")
		if name == "too long" {
			s.waitProcesses(id, "sleep 97532", "0")
			s.waitProcesses(id, "sleep 97533", "0")
		}
		assertLog(t, s.history(id))
		if _, err := s.client().HostedAgents.DestroySession(context.Background(), id); err != nil {
			t.Fatal(err)
		}
	}
}

// An agent that dies between turns is started again by the next input and goes
// on with its own conversation; one that cannot be started any more fails.
func TestAgentKilledBetweenRuns(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	id := s.create("agent: custom\ncommand: [/workspace/agent]\n").SessionID
	s.sh(id, "cp /opt/paddock/bin/paddock-demo-agent agent")
	kill := func() {
		s.waitProcesses(id, "/workspace/agent", "1")
		s.sh(id, `for p in /proc/[0-9]*; do [ "$(tr '\0' ' ' < $p/cmdline)" = '/workspace/agent ' ] && kill -9 ${p#/proc/}; done 2>/dev/null; true`)
		s.waitProcesses(id, "/workspace/agent", "0")
	}
	for turn := 1; turn <= 3; turn++ {
		if got := s.turn(id, "hello"); !strings.HasPrefix(got, fmt.Sprintf("turn %d: ", turn)) {
			t.Errorf("turn %d: the agent said %q", turn, got)
		}
		kill()
	}
	s.sh(id, "rm agent; echo broken > agent; chmod 755 agent")
	f := payload[failed](t, s.waitRun(id, s.send(id, "hello")))
	if f.Code != 7 || !f.Terminal || !strings.HasPrefix(f.Message, "agent did not start") {
		t.Errorf("failure is %+v", f)
	}
	assertLog(t, s.history(id))
}

// streamOfRun reads a run's own stream to its end.
func (s *server) streamOfRun(id, run, query string) (kinds []string, ids []string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.addr+"/v2/harness-runtime/sessions/"+id+"/runs/"+run+"/events"+query, nil)
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Errorf("run stream: %v", err)
		return nil, nil
	}
	defer resp.Body.Close()
	event := ""
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		line := lines.Text()
		if e, ok := strings.CutPrefix(line, "id: "); ok {
			event = e
		}
		if kind, ok := strings.CutPrefix(line, "event: "); ok && kind != "stream.state" {
			kinds, ids = append(kinds, kind), append(ids, event)
		}
	}
	if lines.Err() != nil {
		s.t.Errorf("run stream: %v", lines.Err())
	}
	return kinds, ids
}

// A run's stream has the run's events and ends with it, whether it has ended,
// goes on, or has not begun.
func TestStreamOfARun(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	id := s.create("agent: demo\n").SessionID
	active, queued, never := s.send(id, "slow 8"), s.send(id, "slow 2"), s.send(id, "hello")
	type stream struct{ kinds, ids []string }
	streams := map[string]chan stream{active: make(chan stream, 1), queued: make(chan stream, 1), never: make(chan stream, 1)}
	for run, result := range streams {
		go func() {
			kinds, ids := s.streamOfRun(id, run, "")
			result <- stream{kinds, ids}
		}()
	}
	if got := s.cancel(id, never); got != "acked" {
		t.Errorf("cancel of a queued run: %s", got)
	}
	for run, result := range streams {
		var got stream
		select {
		case got = <-result:
		case <-time.After(patience):
			t.Fatalf("the stream of %s does not end", run)
		}
		var want []string
		for _, e := range s.history(id) {
			if e.RunID == run {
				want = append(want, e.EventID)
			}
		}
		if strings.Join(got.ids, " ") != strings.Join(want, " ") {
			t.Errorf("the stream of %s has %v, the history %v", run, got.ids, want)
		}
		last := got.kinds[len(got.kinds)-1]
		if run == never && (len(got.kinds) != 1 || last != "run.failed") || run != never && (got.kinds[0] != "run.started" || last != "run.completed") {
			t.Errorf("the stream of %s is %v", run, got.kinds)
		}
		// Again, when all is stored: whole, and after a cursor.
		if _, again := s.streamOfRun(id, run, ""); strings.Join(again, " ") != strings.Join(want, " ") {
			t.Errorf("the stored stream of %s has %v", run, again)
		}
		if _, rest := s.streamOfRun(id, run, "?cursor="+want[0]); strings.Join(rest, " ") != strings.Join(want[1:], " ") {
			t.Errorf("after its first event the stream of %s has %v", run, rest)
		}
	}
	if r := s.run(id, never); r.State != "RUN_STATE_CANCELLED" || r.StartedAt != "" || r.EndedAt == "" || r.Failure == nil || r.Failure.Terminal {
		t.Errorf("the cancelled queued run is %+v", r)
	}
	if r := s.run(id, active); r.State != "RUN_STATE_COMPLETED" || r.TokensIn < 1 || r.TokensOut < 1 || r.Failure != nil {
		t.Errorf("the completed run is %+v", r)
	}
}
