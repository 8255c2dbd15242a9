package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// What a call makes the server write names the call and the session, whoever
// writes it and however the session was named; also what comes after its answer.
func TestLogLinesNameTheirCall(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	sess := s.create("agent: none\nname: written\n")
	for _, c := range []struct{ request, method, path string }{
		{"call-pause", http.MethodPost, "/sessions/written/pause"}, {"call-resume", http.MethodPost, "/sessions/WRITTEN/resume"},
		{"call-remove", http.MethodDelete, "/sessions/" + sess.SessionID},
	} {
		r, err := http.NewRequestWithContext(context.Background(), c.method, "http://"+s.addr+"/v2/harness-runtime"+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("X-Request-Id", c.request)
		response, err := http.DefaultClient.Do(r)
		if err != nil || response.StatusCode != http.StatusNoContent {
			t.Fatalf("%s: %v %v", c.path, response, err)
		}
		response.Body.Close()
	}
	s.waitGone(sess.SandboxID)
	for message, request := range map[string]string{"session paused": "call-pause", "session resumed": "call-resume", "session destroyed": "call-remove"} {
		eventually(t, message+" is written", func() bool { return s.wrote(message, request, sess.SessionID) })
	}
	for _, request := range []string{"call-pause", "call-resume", "call-remove"} {
		eventually(t, request+" is written", func() bool { return s.wrote("call", request, sess.SessionID) })
	}
}

// wrote says whether a line of the log has this message, request and session.
func (s *server) wrote(message, request, session string) bool {
	for line := range strings.Lines(s.log.String()) {
		var l struct {
			Msg       string
			RequestID string `json:"request_id"`
			SessionID string `json:"session_id"`
		}
		if json.Unmarshal([]byte(line), &l) == nil && l.Msg == message && l.RequestID == request && l.SessionID == session {
			return true
		}
	}
	return false
}
