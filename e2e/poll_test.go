package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/digitalocean/godo"
)

// polled is an answer to a long poll.
type polled struct {
	Events    []godo.HostedAgentEvent
	Cursor    string
	Truncated bool
}

// poll asks for the events after a cursor.
func (s *server) poll(path, query string) (got polled) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.addr+"/v2/harness-runtime"+path+"?"+query, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header = http.Header{"Authorization": {"Bearer " + token}, "Accept": {"application/json"}}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&got); err != nil || resp.StatusCode != http.StatusOK {
		s.t.Fatalf("poll %s?%s: %s, %v", path, query, resp.Status, err)
	}
	return got
}

// A reader who can only poll sees the log, of one session and of all, waits for
// what is new, and is told when a cursor is not one of this history.
func TestLongPolls(t *testing.T) {
	s := startServer(t)
	one, other := s.create("agent: none\n").SessionID, s.create("agent: none\n").SessionID
	ctx := context.Background()
	for _, path := range []string{"/sessions/" + one + "/events", "/events"} {
		var got []godo.HostedAgentEvent
		cursor := ""
		more := func(wait string) {
			t.Helper()
			answer := s.poll(path, "wait="+wait+"&after="+url.QueryEscape(cursor))
			got, cursor = append(got, answer.Events...), answer.Cursor
		}
		more("0s")
		began, answered := time.Now(), make(chan polled, 1)
		go func() { answered <- s.poll(path, "wait=60s&types=session.updated&after="+url.QueryEscape(cursor)) }()
		if _, err := s.client().HostedAgents.PauseSession(ctx, one); err != nil {
			t.Fatal(err)
		}
		woken := <-answered
		if waited := time.Since(began); waited > 30*time.Second || len(woken.Events) == 0 || !strings.Contains(string(woken.Events[0].Payload), "PAUSED") {
			t.Errorf("%s: after %s the poll has %+v", path, waited, woken)
		}
		if _, err := s.client().HostedAgents.ResumeSession(ctx, one); err != nil {
			t.Fatal(err)
		}
		more("60s")
		want := s.everything()
		if path != "/events" {
			want = s.history(one)
		}
		for len(got) < len(want) {
			more("60s")
		}
		for i := range want {
			if got[i].EventID != want[i].EventID {
				t.Fatalf("%s: event %d is %s, want %s", path, i+1, got[i].EventID, want[i].EventID)
			}
		}
	}
	foreign := s.history(other)[0].EventID
	if got := s.poll("/sessions/"+one+"/events", "after="+foreign); !got.Truncated || got.Events[0].Seq != 1 {
		t.Errorf("after an event of another session: %+v", got)
	}
	if got := s.poll("/events", "after="+foreign); got.Truncated {
		t.Error("an event of any session is no cursor of all of them")
	}
}
