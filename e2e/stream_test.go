package e2e

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/digitalocean/godo"
)

// follow opens a live stream after cursor and reads n events of the log, or to
// the stream's end when n is 0.
func (s *server) follow(ctx context.Context, id, cursor string, n int) ([]godo.HostedAgentEvent, error) {
	st, _, err := s.client().HostedAgents.StreamSession(ctx, id, &godo.HostedAgentSessionStreamOptions{ReplayFrom: cursor, IncludeRaw: true})
	if err != nil {
		return nil, err
	}
	defer st.Close()
	var got []godo.HostedAgentEvent
	for st.Next() {
		if e := st.Current(); e.Kind != godo.HostedAgentEventKindStreamState {
			if got = append(got, e); len(got) == n {
				break
			}
		}
	}
	return got, st.Err()
}

// Readers that come and go at random, over a restart of the server too, put
// together exactly the log.
func TestResumedReadersSeeTheLog(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	s := startServer(t)
	id := s.create("agent: demo\n").SessionID
	first := s.history(id)[0]
	const readers = 6
	results := make(chan []godo.HostedAgentEvent, readers)
	for r := range readers {
		rnd := rand.New(rand.NewPCG(seed, uint64(r)))
		go func() {
			got := []godo.HostedAgentEvent{first}
			for {
				more, _ := s.follow(context.Background(), id, got[len(got)-1].EventID, 1+rnd.IntN(7))
				got = append(got, more...)
				if last := got[len(got)-1]; strings.Contains(string(last.Payload), "SESSION_STATUS_DESTROYED") {
					results <- got
					return
				}
			}
		}()
	}
	s.turn(id, "hello")
	run := s.send(id, "slow 12")
	s.waitEvent(id, func(e godo.HostedAgentEvent) bool {
		return e.RunID == run && e.Kind == godo.HostedAgentEventKindTokenChunk
	})
	s.kill()
	s.restart()
	s.waitRun(id, run)
	s.turn(id, "think about it")
	if _, err := s.client().HostedAgents.DestroySession(context.Background(), id); err != nil {
		t.Fatal(err)
	}
	s.waitStatus(id, godo.HostedAgentSessionStatusDestroyed)
	want := s.history(id)
	assertLog(t, want)
	for range readers {
		got := <-results
		if len(got) != len(want) {
			t.Fatalf("a reader saw %d events, the log has %d", len(got), len(want))
		}
		for i := range want {
			if got[i].EventID != want[i].EventID || string(got[i].Payload) != string(want[i].Payload) {
				t.Fatalf("event %d: a reader saw %s %s, the log has %s %s", i+1, got[i].EventID, got[i].Payload, want[i].EventID, want[i].Payload)
			}
		}
	}
}

func TestHistoryInPages(t *testing.T) {
	s := startServer(t)
	id := s.create("agent: demo\n").SessionID
	for range 3 {
		s.turn(id, "hello")
	}
	want := s.history(id)
	var got []godo.HostedAgentEvent
	before := want[len(want)-1].EventID
	for {
		st, _, err := s.client().HostedAgents.StreamSession(context.Background(), id, &godo.HostedAgentSessionStreamOptions{ReplayOnly: true, Before: before, Limit: 4})
		if err != nil {
			t.Fatal(err)
		}
		var page []godo.HostedAgentEvent
		for st.Next() {
			if e := st.Current(); e.Kind != godo.HostedAgentEventKindStreamState {
				page = append(page, e)
			}
		}
		if st.Err() != nil || len(page) == 0 || len(page) > 4 {
			t.Fatalf("page of %d: %v", len(page), st.Err())
		}
		more := st.HasMore()
		_ = st.Close()
		got = append(page, got...)
		if before = page[0].EventID; !more {
			break
		}
	}
	got = append(got, want[len(want)-1])
	if len(got) != len(want) || got[0].EventID != want[0].EventID {
		t.Errorf("pages hold %d events, the log %d", len(got), len(want))
	}
	st, _, err := s.client().HostedAgents.StreamSession(context.Background(), id, &godo.HostedAgentSessionStreamOptions{ReplayOnly: true, ReplayFrom: want[4].EventID})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if !st.Next() || st.Current().Kind != godo.HostedAgentEventKindStreamState || !st.Next() || st.Current().Seq != 6 {
		t.Errorf("replay from seq 5 begins with seq %d", st.Current().Seq)
	}
}

// raw opens the stream as curl would and gives its lines.
func (s *server) raw(ctx context.Context, id, query string, header http.Header) (*bufio.Scanner, *http.Response) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://%s/v2/harness-runtime/sessions/%s/events%s", s.addr, id, query), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header = header.Clone()
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = resp.Body.Close() })
	return bufio.NewScanner(resp.Body), resp
}

// until reads lines up to the first that contains part, which it returns.
func until(t *testing.T, lines *bufio.Scanner, part string) string {
	t.Helper()
	for lines.Scan() {
		if strings.Contains(lines.Text(), part) {
			return lines.Text()
		}
	}
	t.Fatalf("the stream ended before %q: %v", part, lines.Err())
	return ""
}

func TestStreamProtocol(t *testing.T) {
	s := startServer(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	id := s.create("agent: demo\n").SessionID
	lines, resp := s.raw(ctx, id, "", http.Header{"X-Device-Uuid": {"device-1"}})
	for header, want := range map[string]string{"Content-Type": "text/event-stream", "Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"} {
		if got := resp.Header.Get(header); !strings.HasPrefix(got, want) {
			t.Errorf("%s is %q, want %q", header, got, want)
		}
	}
	lines.Scan()
	if lines.Text() != ": connected" {
		t.Errorf("first line is %q", lines.Text())
	}
	until(t, lines, `"catching_up"`)
	until(t, lines, `"live"`)
	s.send(id, "hello")
	until(t, lines, "event: run.started")
	until(t, lines, "event: run.completed")
	second, _ := s.raw(ctx, id, "?device_id=device-1", http.Header{})
	until(t, second, `"live"`)
	until(t, lines, `"superseded"`)
	if lines.Scan() && lines.Scan() && lines.Scan() {
		t.Errorf("a superseded stream goes on with %q", lines.Text())
	}
	unknown, _ := s.raw(ctx, id, "", http.Header{"Last-Event-Id": {"evt_01h455vb4pex5vsknk084sn02q"}})
	if line := until(t, unknown, `"catching_up"`); !strings.Contains(line, `"truncated":true`) {
		t.Errorf("an unknown cursor is not called truncated: %s", line)
	}
	until(t, unknown, `"seq":1,`)
	_, resp = s.raw(ctx, id, "?before=evt_x", http.Header{})
	if resp.StatusCode != http.StatusBadRequest {
		t.Errorf("before without replay_only: %d", resp.StatusCode)
	}
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed; all else of this test was checked")
	}
	out, err := exec.Command("curl", "-sN", "--max-time", "20", "-H", "Authorization: Bearer "+token,
		fmt.Sprintf("http://%s/v2/agents/sessions/%s/events?replay_only=true", s.addr, id)).Output()
	if err != nil || !strings.Contains(string(out), "event: run.completed") {
		t.Errorf("curl on the alias: %v\n%s", err, out)
	}
}
