package e2e

import (
	"context"
	"net/http"
	"testing"

	"github.com/digitalocean/godo"
)

// A removed session is forgotten once its time is over, also by the next server;
// one that lives keeps every event.
func TestRemovedSessionsAreForgotten(t *testing.T) {
	s := startServer(t, "--history-retention", "1s")
	live := s.create("agent: demo\n")
	s.waitRun(live.SessionID, s.send(live.SessionID, "hello"))
	removed := s.create("agent: demo\n")
	s.waitRun(removed.SessionID, s.send(removed.SessionID, "hello"))
	if _, err := s.client().HostedAgents.DestroySession(context.Background(), removed.SessionID); err != nil {
		t.Fatal(err)
	}
	s.kill()
	s.start()
	eventually(t, "the removed session is forgotten", func() bool {
		status, _ := s.request(http.MethodGet, "/sessions/"+removed.SessionID, "")
		return status == http.StatusNotFound
	})
	if status, _ := s.request(http.MethodGet, "/sessions/"+removed.SessionID+"/events?replay_only=true", ""); status != http.StatusNotFound {
		t.Errorf("the history of a forgotten session: %d", status)
	}
	events := s.history(live.SessionID)
	assertLog(t, events)
	if last := events[len(events)-1]; last.Kind != godo.HostedAgentEventKindRunCompleted {
		t.Errorf("the history of a live session ends with %s", last.Kind)
	}
}
