package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/digitalocean/godo"
)

// A session's whole life is in its transcript, what tools printed as text; also
// once it is removed.
func TestTranscript(t *testing.T) {
	s := startServer(t)
	sess := s.create("agent: demo\npermissions: {default: ask}\n")
	id := sess.SessionID
	run := s.send(id, "run printf '<b>%s</b>' from-the-tool")
	if err := s.answer(id, s.waitAsk(id, run).HITLID, godo.HostedAgentHITLOutcomeApprove, nil); err != nil {
		t.Fatal(err)
	}
	s.waitRun(id, run)
	s.waitRun(id, s.send(id, "fail"))
	pause(s, id)
	if _, err := s.client().HostedAgents.DestroySession(context.Background(), id); err != nil {
		t.Fatal(err)
	}
	page, stderr, code := s.cli("transcript", id, "-o", "html")
	if code != 0 {
		t.Fatalf("%d: %s", code, stderr)
	}
	for _, want := range []string{
		"run printf &#39;&lt;b&gt;%s&lt;/b&gt;&#39; from-the-tool", "&lt;b&gt;from-the-tool&lt;/b&gt;", "<li>approved by",
		"Run completed after", "Run failed after", "Session paused (manual)", "Session removed",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is not in the page:\n%s", want, page)
		}
	}
	if strings.Contains(page, "<b>") {
		t.Error("what a tool printed is markup")
	}
	document, _, code := s.cli("transcript", id)
	if code != 0 || !strings.Contains(document, "<b>from-the-tool</b>") || !strings.Contains(document, "- approved by `") {
		t.Errorf("%d:\n%s", code, document)
	}
}

// A history that grows past its limit loses the oldest native frames, says so,
// and goes on gapless; the rest is as it was.
func TestHistoryLimit(t *testing.T) {
	s := startServer(t, "--history-limit", "1")
	id := s.create("agent: demo\npermissions: {default: allow}\n").SessionID
	var before []string
	for i := range 20 {
		s.waitRun(id, s.send(id, fmt.Sprintf("run head -c 50000 /dev/zero | tr '\\0' %c", 'a'+i)))
		if i == 0 {
			before = s.allEvents(id)
		}
	}
	lines := s.allEvents(id)
	kept, dropped := 0, 0
	for i, line := range lines {
		var e struct {
			Seq        int    `json:"seq"`
			EventID    string `json:"event_id"`
			Raw        []byte `json:"source_raw"`
			RawDropped int    `json:"source_raw_truncated_bytes"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		if e.Seq != i+1 || e.EventID == "" {
			t.Fatalf("event %d is %s", i+1, line)
		}
		if i < len(before) && !strings.Contains(before[i], e.EventID) {
			t.Errorf("event %d was %.200s", i+1, before[i])
		}
		if e.RawDropped > 0 && kept > 0 {
			t.Errorf("the frame of event %d is dropped, older ones are kept", e.Seq)
		}
		kept, dropped = kept+len(e.Raw), dropped+e.RawDropped
	}
	if kept == 0 || kept > 1<<20 || dropped < 1<<20 {
		t.Errorf("%d bytes of frames are kept, %d are dropped", kept, dropped)
	}
	assertLog(t, s.history(id))
	s.call(http.MethodGet, "/sessions/"+id, nil, http.StatusOK, nil)
}

// Few large texts keep to the limit as well, and every frame goes before any of
// them, but for the newest.
func TestHistoryLimitOfTexts(t *testing.T) {
	const limit, prompts, each = 1 << 20, 22, 90_000
	s := startServer(t, "--history-limit", "1", "--pool", "0")
	id := s.create("agent: demo\npermissions: {default: allow}\n").SessionID
	for i := range prompts {
		s.waitRun(id, s.send(id, "think "+strings.Repeat(string(rune('a'+i)), each)))
	}
	lines := s.allEvents(id)
	held, shortened, framed := 0, 0, 0
	for i, line := range lines {
		var e struct {
			Payload json.RawMessage `json:"data"`
			Raw     []byte          `json:"source_raw"`
			Dropped int             `json:"truncated_bytes"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		held += len(e.Payload) + len(e.Raw)
		if e.Dropped > 0 {
			shortened = i
		}
		if len(e.Raw) > 0 && framed == 0 {
			framed = i
		}
	}
	if held > limit+len(lines)*64 || held < limit/2 {
		t.Errorf("%d bytes are held in %d events", held, len(lines))
	}
	if shortened == 0 || framed > 0 && framed < shortened {
		t.Errorf("event %d is shortened, event %d has its frame, of %d", shortened+1, framed+1, len(lines))
	}
	assertLog(t, s.history(id))
}

// allEvents is the whole history with the frames, a line of JSON each.
func (s *server) allEvents(id string) []string {
	s.t.Helper()
	stdout, stderr, code := s.cli("events", id, "--all", "--raw", "-o", "json")
	if code != 0 {
		s.t.Fatalf("%d: %s", code, stderr)
	}
	return strings.Split(strings.TrimSpace(stdout), "\n")
}
