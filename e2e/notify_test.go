package e2e

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/digitalocean/godo"
)

// hook is a receiver of notices that may be out of order.
type hook struct {
	mu       sync.Mutex
	down     bool
	attempts []delivery
}

type delivery struct {
	header http.Header
	body   string
	taken  bool
}

func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.attempts = append(h.attempts, delivery{r.Header, string(body), !h.down})
	if h.down {
		w.WriteHeader(http.StatusInternalServerError)
	}
}

func (h *hook) set(down bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.down = down
}

func (h *hook) all() []delivery {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.attempts)
}

// told is a notice's body.
type told struct {
	Type string
	Data struct {
		SessionName string `json:"session_name"`
		Event       struct {
			EventID string `json:"event_id"`
			RunID   string `json:"run_id"`
		}
	}
}

// What waits and what has ended is told outside, signed, over a receiver that is
// down and a server that is killed: each once under one id.
func TestNotify(t *testing.T) {
	outside := &hook{down: true}
	receiver := httptest.NewServer(outside)
	defer receiver.Close()
	file := filepath.Join(t.TempDir(), "told")
	s := startServer(t, "--notify-url", receiver.URL+"/hook", "--notify-command", `(cat; echo) >> "`+file+`"`)
	id := s.create("agent: demo\nname: teller\n").SessionID
	run := s.send(id, "run echo hello")
	a := s.waitAsk(id, run)
	eventually(t, "the receiver was asked", func() bool { return len(outside.all()) > 0 })
	s.kill()
	outside.set(false)
	s.restart()
	if err := s.answer(id, a.HITLID, godo.HostedAgentHITLOutcomeApprove, nil); err != nil {
		t.Fatal(err)
	}
	s.waitRun(id, run)

	wantIDs := map[string]string{} // event ids, by type
	for _, e := range s.history(id) {
		if e.Kind == godo.HostedAgentEventKindHITLRequested || e.Kind == godo.HostedAgentEventKindRunCompleted {
			wantIDs[string(e.Kind)] = e.EventID
		}
	}
	secret := s.notifyKey()
	ids := map[string]string{} // of notices, by event id
	taken := map[string]int{}
	eventually(t, "both were taken", func() bool {
		clear(taken)
		for _, d := range outside.all() {
			if d.taken {
				taken[d.header.Get("Webhook-Id")]++
			}
		}
		return len(taken) == 2
	})
	for _, d := range outside.all() {
		h := d.header
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte(h.Get("Webhook-Id") + "." + h.Get("Webhook-Timestamp") + "." + d.body))
		if want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)); h.Get("Webhook-Signature") != want {
			t.Errorf("signed %q, want %q", h.Get("Webhook-Signature"), want)
		}
		var n told
		if err := json.Unmarshal([]byte(d.body), &n); err != nil {
			t.Fatal(err)
		}
		if wantIDs[n.Type] != n.Data.Event.EventID || n.Data.Event.RunID != run || n.Data.SessionName != "teller" || h.Get("Idempotency-Key") != h.Get("Webhook-Id") {
			t.Errorf("told of %s, want events %v", d.body, wantIDs)
		}
		if known := ids[n.Data.Event.EventID]; known != "" && known != h.Get("Webhook-Id") {
			t.Errorf("one event has the ids %s and %s", known, h.Get("Webhook-Id"))
		}
		ids[n.Data.Event.EventID] = h.Get("Webhook-Id")
	}
	eventually(t, "the command was told of both", func() bool {
		text, _ := os.ReadFile(file)
		return strings.Contains(string(text), wantIDs["run.human_input_requested"]) && strings.Contains(string(text), wantIDs["run.completed"])
	})
}

// notifyKey reads the key with which the server signs.
func (s *server) notifyKey() []byte {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, "notify.key"))
	if err != nil {
		s.t.Fatal(err)
	}
	secret, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(strings.TrimSpace(string(text)), "whsec_"))
	if err != nil {
		s.t.Fatal(err)
	}
	return secret
}
