package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/digitalocean/godo"
)

// follows is the table of a session's states, written down a second time: what
// may come after what in a history.
var follows = map[string][]string{
	"":             {"PROVISIONING"},
	"PROVISIONING": {"READY", "FAILED", "DESTROYING"},
	"READY":        {"PAUSED", "UPDATING", "FAILED", "DESTROYING"},
	"PAUSED":       {"READY", "PAUSED", "UPDATING", "FAILED", "DESTROYING"}, // paused still, but without its memory
	"UPDATING":     {"READY", "PAUSED", "FAILED", "DESTROYING"},
	"FAILED":       {"DESTROYING"},
	"DESTROYING":   {"DESTROYED"},
}

// assertLegal asserts that a history is a way through the table, that runs begin
// and speak only while the session is ready, and that a pause says why.
func assertLegal(t *testing.T, events []godo.HostedAgentEvent) {
	t.Helper()
	at := ""
	for _, e := range events {
		switch e.Kind {
		case godo.HostedAgentEventKindSessionUpdated:
			p := payload[struct {
				Status string
				Reason string `json:"pause_reason"`
			}](t, e)
			next := strings.TrimPrefix(p.Status, "SESSION_STATUS_")
			if !slices.Contains(follows[at], next) {
				t.Errorf("event %d: the session is %s after %s", e.Seq, next, at)
			}
			if (p.Reason != "") != (next == "PAUSED") {
				t.Errorf("event %d: %s with the pause reason %q", e.Seq, next, p.Reason)
			}
			at = next
		case godo.HostedAgentEventKindRunStarted, godo.HostedAgentEventKindTokenChunk, godo.HostedAgentEventKindRunCompleted,
			godo.HostedAgentEventKindHITLRequested, godo.HostedAgentEventKindToolCallStarted:
			if at != "READY" {
				t.Errorf("event %d: %s while the session is %s", e.Seq, e.Kind, at)
			}
		}
	}
}

// model is what one session has to be when nobody else is at it. Each of its
// runs asks a person at once, so that it stays until it is answered or cancelled.
type model struct {
	*server
	t       *testing.T
	id      string
	paused  bool
	pending bool     // a pause waits for the end of the active run
	removed bool     // nothing else comes after it
	active  string   // run
	queued  []string // runs
	ended   []string // runs
	steps   []string // what was done, for the report of a failure
}

// refused is what each verb answers in a state that does not allow it.
const refused = http.StatusConflict

// want makes a call and asserts its status.
func (m *model) want(status int, method, path, body string) string {
	m.t.Helper()
	got, answer := m.request(method, "/sessions/"+m.id+path, body)
	if got != status {
		m.t.Fatalf("%s %s: %d, want %d: %s\nafter %s", method, path, got, status, answer, strings.Join(m.steps, ", "))
	}
	return answer
}

// boundary is what follows the end of the active run, or a resume.
func (m *model) boundary() {
	switch {
	case m.active != "":
	case m.pending:
		m.pending, m.paused = false, true
	case !m.paused && len(m.queued) > 0:
		m.active, m.queued = m.queued[0], m.queued[1:]
	}
}

// wake is what a call does to a paused session.
func (m *model) wake() {
	m.paused = false
	m.boundary()
}

func (m *model) input() {
	if m.removed {
		m.want(refused, "POST", "/input", `{"text":"run echo hi"}`)
		return
	}
	var got struct {
		RunID string `json:"run_id"`
	}
	if err := json.Unmarshal([]byte(m.want(200, "POST", "/input", `{"text":"run echo hi"}`)), &got); err != nil {
		m.t.Fatal(err)
	}
	m.queued = append(m.queued, got.RunID)
	m.wake()
}

func (m *model) answer() {
	if m.removed || m.active == "" {
		return
	}
	a := m.waitAsk(m.id, m.active)
	m.want(204, "POST", "/hitl/"+a.HITLID, `{"outcome":"HITL_OUTCOME_APPROVE"}`)
	m.endActive()
}

func (m *model) endActive() {
	m.ended, m.active = append(m.ended, m.active), ""
	m.boundary()
}

func (m *model) cancel() {
	if m.removed {
		return
	}
	if m.paused {
		m.want(refused, "POST", "/cancel", `{}`)
		return
	}
	outcome := "no_turn"
	if m.active != "" {
		outcome = "acked"
		m.waitAsk(m.id, m.active)
	}
	if answer := m.want(200, "POST", "/cancel", `{}`); !strings.Contains(answer, `"`+outcome+`"`) {
		m.t.Fatalf("cancel says %s, want %s", answer, outcome)
	}
	if m.active != "" {
		m.endActive()
	}
}

func (m *model) cancelQueued(r *rand.Rand) {
	if m.removed || len(m.queued) == 0 {
		return
	}
	i := r.IntN(len(m.queued))
	if answer := m.want(200, "POST", "/cancel", `{"run_id":"`+m.queued[i]+`"}`); !strings.Contains(answer, `"acked"`) {
		m.t.Fatalf("cancel of a queued run says %s", answer)
	}
	m.ended = append(m.ended, m.queued[i])
	m.queued = slices.Delete(m.queued, i, i+1)
}

func (m *model) pause() {
	switch {
	case m.removed, m.paused:
		m.want(refused, "POST", "/pause", "")
	case m.active != "":
		m.want(202, "POST", "/pause", "")
		m.pending = true
	default:
		m.want(204, "POST", "/pause", "")
		m.paused = true
	}
}

func (m *model) resume() {
	switch {
	case m.removed, !m.paused && !m.pending:
		m.want(refused, "POST", "/resume", "")
	case m.pending:
		m.want(204, "POST", "/resume", "")
		m.pending = false
	default:
		m.want(204, "POST", "/resume", "")
		m.wake()
	}
}

// touch makes a machine call.
func (m *model) touch(method, path, body string) {
	if m.removed {
		m.want(refused, method, path, body)
		return
	}
	m.want(200, method, path, body)
	if m.paused {
		m.wake()
	}
}

func (m *model) remove() {
	m.want(204, "DELETE", "", "")
	if !m.removed {
		m.ended = append(append(m.ended, m.queued...), m.active)
		m.removed, m.paused, m.pending, m.active, m.queued = true, false, false, "", nil
	}
}

// step does one thing at random.
func (m *model) step(r *rand.Rand, last bool) {
	n := r.IntN(100)
	if last {
		n = 99
	}
	name := ""
	switch {
	case n < 24 && len(m.queued) < 6:
		name = "input"
		m.input()
	case n < 42:
		name = "answer"
		m.answer()
	case n < 50:
		name = "cancel"
		m.cancel()
	case n < 56:
		name = "cancel queued"
		m.cancelQueued(r)
	case n < 70:
		name = "pause"
		m.pause()
	case n < 84:
		name = "resume"
		m.resume()
	case n < 91:
		name = "exec"
		m.touch("POST", "/sandbox/exec", `{"argv":["true"]}`)
	case n < 97:
		name = "list files"
		m.touch("GET", "/files", "")
	case last:
		name = "remove"
		m.remove()
	default:
		name = "look"
	}
	m.steps = append(m.steps, name)
	m.check()
}

// check asserts that the session is what the model says; an end of a turn may
// take a moment to be seen.
func (m *model) check() {
	m.t.Helper()
	want := fmt.Sprintf("READY pending=%v run=%q queued=%v", m.pending, m.active, len(m.queued))
	switch {
	case m.removed:
		want = `removed pending=false run="" queued=0`
	case m.paused:
		want = fmt.Sprintf(`PAUSED pending=false run="" queued=%v`, len(m.queued))
	}
	got := ""
	defer func() {
		if m.t.Failed() {
			m.t.Logf("it is %s", got)
		}
	}()
	eventually(m.t, fmt.Sprintf("the session is %s, after %s", want, strings.Join(m.steps, ", ")), func() bool {
		got = m.look()
		return got == want
	})
}

// look is the session in the words of check.
func (m *model) look() string {
	var got struct {
		Session struct {
			Status  string
			Pending bool `json:"pause_pending"`
			Run     struct {
				RunID string `json:"run_id"`
			}
		}
	}
	if err := json.Unmarshal([]byte(m.want(200, "GET", "", "")), &got); err != nil {
		m.t.Fatal(err)
	}
	queued := 0
	for _, r := range m.runsOf(m.id) {
		if r.State == "RUN_STATE_QUEUED" {
			queued++
		}
	}
	status := strings.TrimPrefix(got.Session.Status, "SESSION_STATUS_")
	if strings.HasPrefix(status, "DESTROY") {
		status = "removed"
	}
	return fmt.Sprintf("%s pending=%v run=%q queued=%v", status, got.Session.Pending, got.Session.Run.RunID, queued)
}

// One caller after the other: each answer, and what the session is after it, is
// exactly what the table of states says.
func TestSessionIsItsModel(t *testing.T) {
	s := startServer(t)
	seed := number("PADDOCK_TEST_SEED", uint64(rand.Uint32()))
	t.Logf("PADDOCK_TEST_SEED=%d", seed)
	t.Run("all", func(t *testing.T) {
		for i := range 3 {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				s, r := s.by(t), rand.New(rand.NewPCG(seed, uint64(i)))
				m := &model{server: s, t: t, id: s.create("agent: demo\npermissions: {default: ask}\n").SessionID}
				steps := int(number("PADDOCK_TEST_STEPS", 50))
				for n := range steps {
					m.step(r, n == steps-4)
				}
				s.waitStatus(m.id, godo.HostedAgentSessionStatusDestroyed)
				events := s.history(m.id)
				assertLog(t, events)
				assertLegal(t, events)
				assertOneActive(t, events)
				for _, run := range m.ended {
					if run == "" {
						continue
					}
					if n := count(events, run, godo.HostedAgentEventKindRunCompleted) + count(events, run, godo.HostedAgentEventKindRunFailed); n != 1 {
						t.Errorf("run %s has %d terminal events", run, n)
					}
				}
			})
		}
	})
}
