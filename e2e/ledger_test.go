package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/digitalocean/godo"
)

// ledger is what clients asked for and what they were promised; at the end it
// is held against what is there.
type ledger struct {
	names atomic.Uint64 // handed out

	book    sync.Mutex
	made    map[string]string            // name of a session → its id; empty: nobody was told
	sent    map[string]map[string]int    // session → text → how many inputs with it
	became  map[string]map[string]string // session → run that an input was answered with → text
	acked   map[string][]string          // session → runs whose cancel was acknowledged
	given   map[string]given             // approval → the answer that was taken
	revoked map[string]bool              // approvals whose grant is to be revoked; true: it was
	execs   map[string]map[string]bool   // session → word that a program was to note → whether it was said to have ended
}

// given is one answer to an approval.
type given struct {
	outcome string
	whole   bool // for the rest of the session
}

func newLedger() ledger {
	return ledger{
		made: map[string]string{}, sent: map[string]map[string]int{}, became: map[string]map[string]string{}, acked: map[string][]string{},
		given: map[string]given{}, revoked: map[string]bool{}, execs: map[string]map[string]bool{},
	}
}

// name gives a word that no other call has.
func (l *ledger) name() string { return fmt.Sprintf("n%d", l.names.Add(1)) }

// keep writes into one of the ledger's maps of maps.
func keep[T any](l *ledger, book map[string]map[string]T, session, key string, change func(was T) T) {
	l.book.Lock()
	defer l.book.Unlock()
	if book[session] == nil {
		book[session] = map[string]T{}
	}
	book[session][key] = change(book[session][key])
}

// make makes a session, in the place of one that was removed.
func (l *load) make(ctx context.Context, place string, r *rand.Rand) {
	name := "load-" + l.name()
	spec := map[string]any{"agent": "demo", "name": name, "permissions": map[string]string{"default": []string{"allow", "ask", "deny", "ask"}[r.IntN(4)]}}
	l.book.Lock()
	l.made[name] = ""
	l.book.Unlock()
	status, answer := l.again(ctx, name, "POST", "", spec, 201, 409, 503)
	if status != http.StatusCreated {
		return
	}
	var got struct {
		Session struct {
			ID string `json:"session_id"`
		}
	}
	if err := json.Unmarshal(answer, &got); err != nil {
		l.note("create: %v in %s", err, answer)
		return
	}
	id := got.Session.ID
	l.book.Lock()
	l.made[name] = id
	l.book.Unlock()
	l.followers.session(id)
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.sessions, place); i >= 0 {
		l.sessions[i] = id
	} else {
		l.sessions = append(l.sessions, id)
	}
}

// input sends a text until it is answered; now and then once more after that.
func (l *load) input(ctx context.Context, id, text string, r *rand.Rand) {
	key := l.name()
	if strings.Contains(text, "%s") {
		text = fmt.Sprintf(text, key)
	}
	keep(&l.ledger, l.sent, id, text, func(n int) int { return n + 1 })
	send := func() (run string) {
		status, answer := l.again(ctx, key, "POST", "/"+id+"/input", map[string]any{"text": text}, 200, 409, 429)
		if status != http.StatusOK {
			return ""
		}
		var got struct {
			RunID string `json:"run_id"`
		}
		_ = json.Unmarshal(answer, &got)
		keep(&l.ledger, l.became, id, got.RunID, func(string) string { return text })
		return got.RunID
	}
	run := send()
	if run != "" && r.IntN(4) == 0 {
		if again := send(); again != run && again != "" {
			l.note("the input %s became run %s, and again %s", key, run, again)
		}
	}
}

// cancel ends a run: the active one, or one that the ledger knows.
func (l *load) cancel(ctx context.Context, id string, r *rand.Rand) {
	body := map[string]any{}
	if r.IntN(3) == 0 {
		l.book.Lock()
		for run := range l.became[id] {
			body["run_id"] = run
			break
		}
		l.book.Unlock()
	}
	status, answer := l.again(ctx, "", "POST", "/"+id+"/cancel", body, 200, 409)
	var got struct {
		RunID   string `json:"run_id"`
		Outcome string
	}
	if status == http.StatusOK && json.Unmarshal(answer, &got) == nil && got.Outcome == "acked" {
		l.book.Lock()
		l.acked[id] = append(l.acked[id], got.RunID)
		l.book.Unlock()
	}
}

// execOnce has a program note a word, under a key.
func (l *load) execOnce(ctx context.Context, id string) {
	word := l.name()
	keep(&l.ledger, l.execs, id, word, func(bool) bool { return false })
	script := "echo " + word + " >> noted; sleep 0.3; echo done"
	status, answer := l.again(ctx, word, "POST", "/"+id+"/sandbox/exec", map[string]any{"argv": []string{"sh", "-c", script}}, 200, 409, 502)
	if status == http.StatusOK && bytes.Contains(answer, []byte(`"stdout":"done\n"`)) {
		keep(&l.ledger, l.execs, id, word, func(bool) bool { return true })
	}
}

// answerAll answers whatever waits in a session.
func (l *load) answerAll(ctx context.Context, id string, r *rand.Rand) {
	status, answer := l.do(ctx, "GET", "/"+id+"/approvals?state=pending", nil, 200)
	if status != http.StatusOK {
		return
	}
	var got struct {
		Approvals []struct {
			RequestID string `json:"request_id"`
		} `json:"approvals"`
	}
	_ = json.Unmarshal(answer, &got)
	for _, a := range got.Approvals {
		body := map[string]any{"outcome": []string{"HITL_OUTCOME_APPROVE", "HITL_OUTCOME_REJECT", "HITL_OUTCOME_DEFER", "HITL_OUTCOME_APPROVE"}[r.IntN(4)]}
		whole := body["outcome"] == "HITL_OUTCOME_APPROVE" && r.IntN(4) == 0
		if whole {
			body["for_session"] = true
		}
		status, _ := l.again(ctx, "", "POST", "/"+id+"/hitl/"+a.RequestID, body, 204, 409)
		if status != http.StatusNoContent || body["outcome"] == "HITL_OUTCOME_DEFER" {
			continue
		}
		took := given{body["outcome"].(string), whole}
		l.book.Lock()
		if was, again := l.given[a.RequestID]; again && was != took {
			l.note("approval %s took the answers %v and %v", a.RequestID, was, took)
		}
		l.given[a.RequestID] = took
		l.book.Unlock()
	}
}

type grant struct {
	GrantID   string `json:"grant_id"`
	RequestID string `json:"request_id"`
}

// revoke ends a grant of a session, if it has one.
func (l *load) revoke(ctx context.Context, id string, r *rand.Rand) {
	status, answer := l.do(ctx, "GET", "/"+id+"/grants", nil, 200)
	var got struct{ Grants []grant }
	if status != http.StatusOK || json.Unmarshal(answer, &got) != nil || len(got.Grants) == 0 {
		return
	}
	g := got.Grants[r.IntN(len(got.Grants))]
	note := func(done bool) {
		l.book.Lock()
		defer l.book.Unlock()
		l.revoked[g.RequestID] = done || l.revoked[g.RequestID]
	}
	note(false)
	if status, _ := l.again(ctx, "", "DELETE", "/"+id+"/grants/"+g.GrantID, nil, 204); status == http.StatusNoContent {
		note(true)
	}
}

// assertMade asserts that each create made one session at most, and one whose
// maker was told so.
func (l *load) assertMade(all []*godo.HostedAgentSession) {
	l.t.Helper()
	of := map[string][]string{}
	for _, s := range all {
		of[s.Name] = append(of[s.Name], s.SessionID)
	}
	for name, id := range l.made {
		if ids := of[name]; len(ids) > 1 || id != "" && !slices.Equal(ids, []string{id}) {
			l.t.Errorf("the create of %s was answered with %q and made %v", name, id, ids)
		}
	}
}

// assertRuns asserts that every accepted input became one run that has ended
// with one terminal event, that no other input did, and that what was cancelled
// ended so.
func (l *load) assertRuns(id string, events []godo.HostedAgentEvent) {
	l.t.Helper()
	ends := map[string]int{}
	for _, e := range events {
		if e.Kind == godo.HostedAgentEventKindRunCompleted || e.Kind == godo.HostedAgentEventKindRunFailed {
			ends[e.RunID]++
		}
	}
	runs, texts, accepted := map[string]loadRun{}, map[string]int{}, map[string]int{}
	for _, r := range l.runsOf(id) {
		runs[r.RunID] = r
		texts[r.Text]++
		if !r.ended() || ends[r.RunID] != 1 {
			l.t.Errorf("run %s (%s) of %s is %s with %d terminal events", r.RunID, r.Text, id, r.State, ends[r.RunID])
		}
	}
	for run, text := range l.became[id] {
		if accepted[text]++; runs[run].Text != text {
			l.t.Errorf("%q of %s was accepted as run %s, which is %+v", text, id, run, runs[run])
		}
	}
	known := slices.Contains(slices.Collect(maps.Values(l.made)), id)
	for text, n := range texts {
		if n < accepted[text] || known && n > l.sent[id][text] {
			l.t.Errorf("%q of %s was sent %d times, accepted %d times, and has %d runs", text, id, l.sent[id][text], accepted[text], n)
		}
	}
	for _, run := range l.acked[id] {
		if state := runs[run].State; state != "RUN_STATE_CANCELLED" && !(l.losing && state == "RUN_STATE_FAILED") {
			l.t.Errorf("run %s of %s, whose cancel was acknowledged, is %s", run, id, state)
		}
	}
}

// answersTried is of how many approvals of a session is tried what answers they
// take when they are settled.
const answersTried = 10

// assertAnswers asserts that each approval is as its history says and as it was
// answered, and that it takes the same answer again and no other.
func (l *load) assertAnswers(id string, events []godo.HostedAgentEvent) {
	t := l.t
	t.Helper()
	settled := map[string]string{}
	for _, e := range events {
		if e.Kind == godo.HostedAgentEventKindHITLResolved {
			if h := payload[struct {
				HITLID  string `json:"hitl_id"`
				Outcome string
			}](t, e); h.Outcome != "HITL_OUTCOME_DEFER" {
				settled[h.HITLID] = h.Outcome
			}
		}
	}
	var got struct {
		Approvals []struct {
			RequestID string `json:"request_id"`
			State     string
		}
	}
	l.call("GET", "/sessions/"+id+"/approvals?state=all", nil, http.StatusOK, &got)
	tried := 0
	for _, a := range got.Approvals {
		took, known := l.given[a.RequestID]
		if !known {
			continue
		}
		if settled[a.RequestID] != took.outcome {
			t.Errorf("approval %s of %s was answered %v; the history says %q", a.RequestID, id, took, settled[a.RequestID])
		}
		if tried++; tried > answersTried {
			continue
		}
		other := "HITL_OUTCOME_APPROVE"
		if took.outcome == other {
			other = "HITL_OUTCOME_REJECT"
		}
		path := "/" + id + "/hitl/" + a.RequestID
		if status, _ := l.do(context.Background(), "POST", path, map[string]any{"outcome": took.outcome, "for_session": took.whole}, 204); status != http.StatusNoContent {
			t.Errorf("approval %s takes the same answer again with %d", a.RequestID, status)
		}
		if status, _ := l.do(context.Background(), "POST", path, map[string]any{"outcome": other}, 409); status != http.StatusConflict {
			t.Errorf("approval %s, settled with %s, takes %s with %d", a.RequestID, took.outcome, other, status)
		}
	}
}

// assertGrants asserts that what was approved for the rest of a session holds,
// once, unless it was revoked.
func (l *load) assertGrants(id string) {
	t := l.t
	t.Helper()
	var grants struct{ Grants []grant }
	l.call("GET", "/sessions/"+id+"/grants", nil, http.StatusOK, &grants)
	holds := map[string]int{}
	for _, g := range grants.Grants {
		holds[g.RequestID]++
	}
	var asked struct {
		Approvals []struct {
			RequestID string `json:"request_id"`
		}
	}
	l.call("GET", "/sessions/"+id+"/approvals?state=all", nil, http.StatusOK, &asked)
	for _, a := range asked.Approvals {
		gone, maybe := l.revoked[a.RequestID]
		n := holds[a.RequestID]
		if whole := l.given[a.RequestID].whole; n > 1 || n == 1 && gone || n == 0 && whole && !maybe {
			t.Errorf("of approval %s of %s, for the session: %v, revoked: %v, there are %d grants", a.RequestID, id, whole, gone, n)
		}
	}
}

// assertExecs asserts that no program under a key ran twice, and that each that
// was said to have ended did run, as far as its files are still there.
func (l *load) assertExecs(id string) {
	t := l.t
	t.Helper()
	noted := map[string]int{}
	for _, word := range strings.Fields(l.sh(id, "cat noted 2>/dev/null; true")) {
		noted[word]++
	}
	for word, ended := range l.execs[id] {
		if n := noted[word]; n > 1 || n == 0 && ended && !l.losing {
			t.Errorf("the program %s of %s ran %d times; it was said to have ended: %v", word, id, n, ended)
		}
	}
}

// assertConversation asserts that a session goes on with its conversation, or
// has ended it, as its history says.
func (l *load) assertConversation(id string) {
	t := l.t
	t.Helper()
	terminal := false
	for _, e := range l.history(id) {
		if e.Kind == godo.HostedAgentEventKindRunFailed {
			terminal = terminal || payload[failed](t, e).Terminal
		}
	}
	if l.extras(id).AcceptsInput == terminal {
		t.Errorf("%s accepts input: %v; its history has a terminal failure: %v", id, !terminal, terminal)
	}
	key := l.name()
	keep(&l.ledger, l.sent, id, "hello "+key, func(int) int { return 1 })
	run, _, err := l.client().HostedAgents.SendInput(context.Background(), id, &godo.HostedAgentSendInputRequest{Text: "hello " + key})
	switch {
	case terminal:
		wantRefusal(t, err, http.StatusConflict, "run is terminal")
	case err != nil:
		t.Errorf("%s takes no input: %v", id, err)
	default:
		keep(&l.ledger, l.became, id, run.RunID, func(string) string { return "hello " + key })
		if end := l.waitRun(id, run.RunID); end.Kind != godo.HostedAgentEventKindRunCompleted {
			t.Errorf("a run of %s ended as %s %s", id, end.Kind, end.Payload)
		}
	}
}

// assertLosses asserts of a history that no run was active any more when a
// sandbox was said to be lost, and that no run begins after a terminal failure.
func assertLosses(t *testing.T, events []godo.HostedAgentEvent) {
	t.Helper()
	active, ended := "", ""
	for _, e := range events {
		switch e.Kind {
		case godo.HostedAgentEventKindRunStarted:
			if active = e.RunID; ended != "" {
				t.Errorf("event %d: run %s begins after the terminal failure of %s", e.Seq, e.RunID, ended)
			}
		case godo.HostedAgentEventKindRunCompleted, godo.HostedAgentEventKindRunFailed:
			if active == e.RunID {
				active = ""
			}
			if e.Kind == godo.HostedAgentEventKindRunFailed {
				f := payload[failed](t, e)
				if f.Terminal {
					ended = e.RunID
				}
				if f.Code == 4 && f.Cancelled {
					t.Errorf("event %d: %s", e.Seq, e.Payload)
				}
			}
		case godo.HostedAgentEventKindSessionUpdated:
			p := payload[struct{ Status, Memory string }](t, e)
			if strings.HasPrefix(p.Memory, "lost:") && active != "" && p.Status != "SESSION_STATUS_READY" {
				t.Errorf("event %d: %s while run %s is active", e.Seq, e.Payload, active)
			}
		}
	}
}
