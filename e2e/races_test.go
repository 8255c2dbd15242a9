package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/digitalocean/godo"
)

// load is many clients at once doing everything to a few sessions.
type load struct {
	*server
	ledger
	seed uint64
	wg   sync.WaitGroup
	stop chan struct{} // closed: clients finish what they are at

	mu        sync.Mutex
	sessions  []string   // that clients choose from
	strange   []string   // answers that no contract allows
	followers *followers // who read what happens; nil: nobody
	crashing  bool       // the server is killed now and then
	losing    bool       // and sandboxes are
}

// number reads a number from the environment, so that one may run it for longer.
func number(name string, otherwise uint64) uint64 {
	if n, err := strconv.ParseUint(os.Getenv(name), 10, 64); err == nil {
		return n
	}
	return otherwise
}

func newLoad(t *testing.T, sessions int, args ...string) *load {
	seed := number("PADDOCK_TEST_SEED", uint64(time.Now().UnixNano()))
	t.Logf("PADDOCK_TEST_SEED=%d", seed)
	args = append([]string{"--max-active-sessions", strconv.Itoa(2*sessions + 2)}, args...)
	l := &load{server: startServer(t, args...), stop: make(chan struct{}), seed: seed, ledger: newLedger()}
	l.followers = l.followAll()
	t.Cleanup(l.followers.stop)
	r := rand.New(rand.NewPCG(seed, 1<<35))
	for range sessions {
		l.make(context.Background(), "", r)
	}
	for _, id := range l.sessions {
		l.waitStatus(id, godo.HostedAgentSessionStatusReady)
	}
	return l
}

var specs = []string{
	"agent: demo\npermissions: {default: allow}\n", "agent: demo\npermissions: {default: ask}\n",
	"agent: demo\npermissions: {default: deny}\n",
}

// start begins with n clients; they work until stop is closed.
func (l *load) start(n int) {
	for i := range n {
		r := rand.New(rand.NewPCG(l.seed, uint64(i)))
		l.wg.Go(func() {
			for {
				select {
				case <-l.stop:
					return
				default:
					l.act(r)
				}
			}
		})
	}
}

func (l *load) end() { close(l.stop); l.wg.Wait() }

// act does one thing to one session. Every tenth caller leaves early.
func (l *load) act(r *rand.Rand) {
	id := l.choose(r)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if r.IntN(10) == 0 {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(r.IntN(30))*time.Millisecond)
		defer cancel()
	}
	switch n := r.IntN(100); {
	case n < 30:
		l.input(ctx, id, inputs[r.IntN(len(inputs))], r)
	case n < 43:
		l.do(ctx, "POST", "/"+id+"/pause", nil, 202, 204, 409)
	case n < 56:
		l.do(ctx, "POST", "/"+id+"/resume", nil, 204, 409)
	case n < 65:
		l.cancel(ctx, id, r)
	case n < 68:
		l.do(ctx, "GET", "/"+id+"/files", nil, 200, 409, 502)
	case n < 70:
		l.list(ctx)
	case n < 76:
		l.do(ctx, "POST", "/"+id+"/sandbox/exec", map[string]any{"argv": []string{"sh", "-c", programs[r.IntN(len(programs))]}}, 200, 409, 502)
	case n < 82:
		l.execOnce(ctx, id)
	case n < 90:
		l.answerAll(ctx, id, r)
	case n < 91:
		l.revoke(ctx, id, r)
	case n < 97:
		l.read(ctx, id)
	default:
		l.replace(ctx, id, r)
	}
}

// inputs hold %s where each is to differ from all others.
var (
	inputs   = []string{"hello %s", "slow 3", "run echo %s", "write f.txt %s", "think about %s", "read f.txt", "run echo the same"}
	programs = []string{"true", "sleep 0.2", "head -c 300000 /dev/zero", "sleep 5 & echo out", "kill -9 $$"}
)

func (l *load) choose(r *rand.Rand) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sessions[r.IntN(len(l.sessions))]
}

// do makes a call and notes an answer that is not among the allowed ones. With
// status 0 there was no answer: the caller left, or the server was killed.
func (l *load) do(ctx context.Context, method, path string, body any, allowed ...int) (status int, answer []byte) {
	return l.doOnce(ctx, "", method, path, body, allowed...)
}

// doOnce is do under a key.
func (l *load) doOnce(ctx context.Context, key, method, path string, body any, allowed ...int) (status int, answer []byte) {
	var in io.Reader
	if body != nil {
		b, _ := json.Marshal(body)
		in = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://"+l.addr+"/v2/harness-runtime/sessions"+path, in)
	if err != nil {
		return 0, nil
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	if path == "" && method == "POST" {
		req.Header.Set("Content-Type", "application/yaml") // of which JSON is a part
	}
	resp, err := http.DefaultClient.Do(req)
	if err == nil {
		defer resp.Body.Close()
		answer, err = io.ReadAll(resp.Body)
	}
	if err != nil {
		if ctx.Err() == nil && !l.crashing {
			l.note("%s %s: %v", method, path, err)
		}
		return 0, nil
	}
	if resp.StatusCode == http.StatusConflict && !slices.ContainsFunc(conflicts, func(part string) bool { return bytes.Contains(answer, []byte(part)) }) {
		l.note("%s %s: a conflict of another kind: %s", method, path, answer)
	}
	if resp.StatusCode == http.StatusBadGateway && !bytes.Contains(answer, []byte("sandbox lost")) {
		l.note("%s %s: %s", method, path, answer)
	}
	if l.losing && resp.StatusCode == http.StatusBadGateway { // it was lost under the call
		return resp.StatusCode, answer
	}
	if !slices.Contains(allowed, resp.StatusCode) {
		l.note("%s %s: %d %s", method, path, resp.StatusCode, answer)
	}
	return resp.StatusCode, answer
}

// again makes a call until it is answered, as a caller does whose server was
// killed; the call has to be one that may be repeated, or to have a key.
func (l *load) again(ctx context.Context, key, method, path string, body any, allowed ...int) (status int, answer []byte) {
	for {
		if status, answer = l.doOnce(ctx, key, method, path, body, allowed...); status != 0 {
			return status, answer
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return 0, nil
		}
	}
}

func (l *load) note(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.strange = append(l.strange, fmt.Sprintf(format, args...))
}

// read follows the live stream for a while.
func (l *load) read(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	l.do(ctx, "GET", "/"+id+"/events", nil, 200)
}

// list asserts that a list shows no session twice, and none that is gone.
func (l *load) list(ctx context.Context) {
	status, answer := l.do(ctx, "GET", "?page_size=200", nil, 200)
	if status != http.StatusOK {
		return
	}
	var got struct {
		Sessions []struct {
			ID     string `json:"session_id"`
			Name   string
			Status string
			Reason string `json:"pause_reason"`
		}
	}
	if err := json.Unmarshal(answer, &got); err != nil {
		l.note("list: %v", err)
	}
	seen := map[string]bool{}
	for _, s := range got.Sessions {
		if seen[s.ID] || s.Status == "SESSION_STATUS_DESTROYED" || (s.Reason != "") != (s.Status == "SESSION_STATUS_PAUSED") {
			l.note("list shows %+v (again: %v)", s, seen[s.ID])
		}
		seen[s.ID] = true
	}
}

// conflicts are the reasons that a session may have to refuse a verb.
var conflicts = []string{
	"not ready", "is not paused", "paused already", "is paused (", "is removed", "being removed", "is terminal", "already", "expired", "is ready",
	"being restored", "has failed", "is not known", "limit of",
}

// replace removes a session, mostly at once followed by a new one, which may be
// removed while it is provisioning.
func (l *load) replace(ctx context.Context, id string, r *rand.Rand) {
	if status, _ := l.do(ctx, "DELETE", "/"+id, nil, 204); status == http.StatusNoContent {
		l.make(context.Background(), id, r)
	}
}

// settle brings every session to rest and asserts what must hold then.
func (l *load) settle() {
	t := l.t
	t.Helper()
	for _, s := range l.strange {
		t.Error("strange:", s)
	}
	r := rand.New(rand.NewPCG(l.seed, 1<<32))
	all := l.everySession()
	l.assertMade(all)
	for _, s := range all {
		id := s.SessionID
		if s.Status == godo.HostedAgentSessionStatusPaused && !l.losing {
			l.assertFrozen(s.SandboxID)
		}
		eventually(t, id+" is at rest", func() bool { return l.atRest(id, r) })
		ready := l.get(id).Status == godo.HostedAgentSessionStatusReady
		if ready {
			l.waitExec(id, "echo alive", "alive\n")
			l.assertConversation(id)
			l.assertExecs(id)
			l.assertGrants(id)
		}
		events := l.history(id)
		assertLog(t, events)
		assertLegal(t, events)
		assertOneActive(t, events)
		assertAnsweredOnce(t, events)
		assertLosses(t, events)
		l.assertRuns(id, events)
		l.assertAnswers(id, events)
		if t.Failed() {
			t.Fatalf("session %s", id)
		}
	}
	l.followers.compare()
}

// everySession lists all sessions that ever were.
func (s *server) everySession() (all []*godo.HostedAgentSession) {
	s.t.Helper()
	for page := (&godo.HostedAgentSessionListOptions{Status: "SESSION_STATUS_ALL", PageSize: 200}); ; {
		list, _, err := s.client().HostedAgents.ListSessions(context.Background(), page)
		if err != nil {
			s.t.Fatalf("list sessions: %v", err)
		}
		for i := range list.Sessions {
			all = append(all, &list.Sessions[i])
		}
		if page.PageToken = list.NextPageToken; page.PageToken == "" {
			return all
		}
	}
}

// atRest helps a session to its end or to a boundary with nothing queued.
func (l *load) atRest(id string, r *rand.Rand) bool {
	var got struct {
		Session struct {
			Status       string          `json:"status"`
			PausePending bool            `json:"pause_pending"`
			Run          json.RawMessage `json:"run"`
		} `json:"session"`
	}
	l.call("GET", "/sessions/"+id, nil, http.StatusOK, &got)
	switch got.Session.Status {
	case "SESSION_STATUS_DESTROYED":
		return true
	case "SESSION_STATUS_FAILED":
		if l.losing {
			return true
		}
		l.t.Fatalf("session %s failed", id)
	case "SESSION_STATUS_PAUSED":
		l.do(context.Background(), "POST", "/"+id+"/resume", nil, 204, 409)
		return false
	case "SESSION_STATUS_READY":
		l.answerAll(context.Background(), id, r)
		if got.Session.PausePending || len(got.Session.Run) > 0 {
			return false
		}
		return !slices.ContainsFunc(l.runsOf(id), func(r loadRun) bool { return !r.ended() })
	}
	return false
}

type loadRun struct {
	RunID string `json:"run_id"`
	State string `json:"state"`
	Text  string `json:"text"`
}

func (r loadRun) ended() bool {
	return slices.Contains([]string{"RUN_STATE_COMPLETED", "RUN_STATE_FAILED", "RUN_STATE_CANCELLED"}, r.State)
}

// runsOf lists all runs of a session.
func (s *server) runsOf(id string) []loadRun {
	var all []loadRun
	for token := ""; ; {
		var page struct {
			Runs []loadRun `json:"runs"`
			Next string    `json:"next_page_token"`
		}
		s.call("GET", "/sessions/"+id+"/runs?page_size=200&page_token="+token, nil, http.StatusOK, &page)
		all = append(all, page.Runs...)
		if token = page.Next; token == "" {
			return all
		}
	}
}

// assertOneActive asserts that no run begins while another one has not ended.
func assertOneActive(t *testing.T, events []godo.HostedAgentEvent) {
	t.Helper()
	active := ""
	for _, e := range events {
		switch e.Kind {
		case godo.HostedAgentEventKindRunStarted:
			if active != "" {
				t.Errorf("event %d: run %s begins while %s is active", e.Seq, e.RunID, active)
			}
			active = e.RunID
		case godo.HostedAgentEventKindRunCompleted, godo.HostedAgentEventKindRunFailed:
			if active == e.RunID {
				active = ""
			}
		}
	}
}

// Everything at once, on a few sessions: nothing is stuck, nothing lost,
// nothing done twice.
func TestManyClientsAtOnce(t *testing.T) {
	l := newLoad(t, 3)
	l.start(8)
	<-time.After(time.Duration(number("PADDOCK_TEST_LOAD_SECONDS", 8)) * time.Second) // the load's length, not a wait
	l.end()
	l.settle()
}
