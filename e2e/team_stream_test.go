package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/digitalocean/godo"
)

// stream opens a stream of events at a path below the prefix with the public
// client's own parser. The end of ctx ends it.
func (s *server) stream(ctx context.Context, path, cursor string) (*godo.SSEReader, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.addr+"/v2/harness-runtime"+path, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if cursor != "" {
		req.Header.Set("Last-Event-ID", cursor)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = resp.Body.Close() })
	if resp.StatusCode != http.StatusOK {
		return nil, errors.New(resp.Status)
	}
	return godo.NewSSEReader(resp.Body), nil
}

// next gives the next event of a history, the frames about the stream left out.
func next(frames *godo.SSEReader) (e godo.HostedAgentEvent, err error) {
	for {
		frame, err := frames.Next()
		if err != nil {
			return e, err
		}
		if err := json.Unmarshal(frame.Data, &e); err != nil {
			return e, fmt.Errorf("frame %s: %w", frame.Data, err)
		}
		if e.Kind != godo.HostedAgentEventKindStreamState {
			return e, nil
		}
		e = godo.HostedAgentEvent{}
	}
}

// everything reads the stored history of all sessions.
func (s *server) everything() (all []godo.HostedAgentEvent) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	frames, err := s.stream(ctx, "/events?replay_only=true", "")
	for err == nil {
		var e godo.HostedAgentEvent
		if e, err = next(frames); err == nil {
			all = append(all, e)
		}
	}
	if !errors.Is(err, io.EOF) {
		s.t.Fatal(err)
	}
	return all
}

// Readers of all sessions that come and go at random, while sessions are made,
// work and go and the server is killed, put together exactly the same: each
// session's history, whole and in order.
func TestReadersOfAllSessionsMissNothing(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	s := startServer(t)
	var last atomic.Value // the session whose removal ends the readers
	last.Store("")
	const readers = 4
	results := make(chan []godo.HostedAgentEvent, readers)
	first := s.create("agent: demo\n").SessionID
	start := s.everything()[:1]
	for r := range readers {
		rnd := rand.New(rand.NewPCG(seed, uint64(r)))
		go func() {
			got := start
			for {
				ctx, cancel := context.WithCancel(context.Background())
				frames, err := s.stream(ctx, "/events", got[len(got)-1].EventID)
				for n := 1 + rnd.IntN(9); err == nil && n > 0; n-- {
					var e godo.HostedAgentEvent
					if e, err = next(frames); err != nil {
						break
					}
					got = append(got, e)
					if e.SessionID == last.Load() && strings.Contains(string(e.Payload), "SESSION_STATUS_DESTROYED") {
						cancel()
						results <- got
						return
					}
				}
				cancel()
			}
		}()
	}
	ids := []string{first, s.create("agent: demo\n").SessionID, s.create("agent: demo\n").SessionID}
	all := func(text string) {
		t.Helper()
		var runs sync.WaitGroup
		for _, id := range ids {
			runs.Go(func() { s.turn(id, text) })
		}
		runs.Wait()
	}
	all("hello")
	run := s.send(first, "slow 8")
	s.waitEvent(first, func(e godo.HostedAgentEvent) bool {
		return e.RunID == run && e.Kind == godo.HostedAgentEventKindTokenChunk
	})
	s.kill()
	s.restart()
	s.waitRun(first, run)
	ids = append(ids, s.create("agent: demo\n").SessionID)
	all("think about it")
	for _, id := range ids[1:] {
		s.remove(id)
	}
	last.Store(first)
	s.remove(first)

	want := s.everything()
	seqs := map[string]uint64{}
	for _, e := range want {
		if seqs[e.SessionID]++; e.Seq != seqs[e.SessionID] {
			t.Fatalf("event %s of %s has seq %d, want %d", e.EventID, e.SessionID, e.Seq, seqs[e.SessionID])
		}
	}
	completed := 0
	for _, e := range want {
		if e.Kind == godo.HostedAgentEventKindRunCompleted {
			completed++
		}
	}
	out, errs, code := s.cli("events", "--types", "run.completed", "-o", "json")
	if n := strings.Count(out, "\n"); code != 0 || n != completed || completed < len(ids) {
		t.Errorf("events --types exits with %d and prints %d events, want %d\n%s", code, n, completed, errs)
	}
	for _, id := range ids {
		if history := s.history(id); uint64(len(history)) != seqs[id] {
			t.Errorf("%s has %d events, of which %d are among all", id, len(history), seqs[id])
		}
	}
	for range readers {
		got := <-results
		if len(got) != len(want) {
			t.Fatalf("a reader saw %d events, there are %d", len(got), len(want))
		}
		for i := range want {
			if got[i].EventID != want[i].EventID || string(got[i].Payload) != string(want[i].Payload) {
				t.Fatalf("event %d: a reader saw %s %s, the log has %s %s", i+1, got[i].EventID, got[i].Payload, want[i].EventID, want[i].Payload)
			}
		}
	}
}

// remove removes a session and waits until it is gone.
func (s *server) remove(id string) {
	s.t.Helper()
	if _, err := s.client().HostedAgents.DestroySession(context.Background(), id); err != nil {
		s.t.Fatal(err)
	}
	s.waitStatus(id, godo.HostedAgentSessionStatusDestroyed)
}
