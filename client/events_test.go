package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"paddock/client"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// moody is a server whose streams give a history of events, but each
// connection only as much of it as the next mood says.
type moody struct {
	*httptest.Server
	client *client.Client

	mu     sync.Mutex
	events int      // of the history: evt_001 …
	moods  []string // a number: so many events, then a cut; "503", "reset"; none left: all, then the end
	seen   []string // the places that readers resumed from
}

type helper interface {
	Fatal(...any)
	Cleanup(func())
}

func serve(t helper, events int, moods ...string) *moody {
	m := &moody{events: events, moods: moods}
	m.Server = httptest.NewServer(http.HandlerFunc(m.stream))
	transport := &http.Transport{}
	var err error
	m.client, err = client.New(m.URL+"/", "secret", client.Options{
		HTTP: &http.Client{Transport: transport}, Backoff: time.Microsecond, MaxBackoff: time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		m.Close()
	})
	return m
}

func (m *moody) stream(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	mood := "all"
	if len(m.moods) > 0 {
		mood, m.moods = m.moods[0], m.moods[1:]
	}
	m.seen = append(m.seen, r.Header.Get("Last-Event-ID"))
	m.mu.Unlock()
	after, count := 0, m.events
	_, _ = fmt.Sscanf(r.Header.Get("Last-Event-ID"), "evt_%d", &after)
	switch mood {
	case "503", "404", "401":
		status := map[string]int{"503": 503, "404": 404, "401": 401}[mood]
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"id":"some_id","message":"a sentence","request_id":"req_1","error":{"code":%d,"message":"a sentence"}}`, status)
		return
	case "reset":
		panic(http.ErrAbortHandler)
	case "all", "superseded", "page":
	default:
		_, _ = fmt.Sscan(mood, &count)
		count += after
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprint(w, ": connected\n\nevent: stream.state\ndata: {\"type\":\"stream.state\",\"data\":{\"state\":\"catching_up\"}}\n\n")
	for i := after + 1; i <= min(count, m.events); i++ {
		fmt.Fprintf(w, ": keep-alive\n\nid: evt_%03d\nevent: run.log\ndata: {\"event_id\":\"evt_%03d\",\"seq\":%d,\n", i, i, i)
		fmt.Fprintf(w, "data: \"type\":\"run.log\",\"data\":{\"a\":1}}\n\n")
	}
	switch mood {
	case "all":
		fmt.Fprint(w, ": end\n\n")
	case "page":
		fmt.Fprint(w, ": has_more=true\n\n")
	case "superseded":
		fmt.Fprint(w, "event: stream.state\ndata: {\"data\":{\"state\":\"superseded\"}}\n\n")
	default:
		fmt.Fprint(w, "id: evt_999\nevent: run.log\ndata: {\"event_id\":\"evt_999\"") // half a frame
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
}

// all reads a stream to its end and gives the seqs.
func all(stream *client.EventStream) (seqs []int64, err error) {
	for {
		event, err := stream.Next()
		if err != nil {
			return seqs, err
		}
		seqs = append(seqs, event.Seq)
	}
}

// TestStreamResumes cuts connections anywhere: each event comes once, in order.
func TestStreamResumes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		moods := rapid.SliceOfN(rapid.SampledFrom([]string{"0", "1", "3", "503", "reset"}), 0, 8).Draw(rt, "moods")
		m := serve(rt, rapid.IntRange(0, 20).Draw(rt, "events"), append([]string{"1"}, moods...)...)
		stream, err := m.client.Events(context.Background(), "x", client.EventsOptions{})
		if err != nil {
			rt.Fatal(err)
		}
		defer stream.Close()
		got, err := all(stream)
		var want []int64
		for i := range m.events {
			want = append(want, int64(i+1))
		}
		if diff := cmp.Diff(want, got); diff != "" || !errors.Is(err, io.EOF) {
			rt.Fatalf("%v (-want +got)\n%s", err, diff)
		}
		if _, again := stream.Next(); !errors.Is(again, io.EOF) {
			rt.Fatalf("after the end: %v", again)
		}
	})
}

func TestStreamEnds(t *testing.T) {
	for _, c := range []struct {
		moods []string
		want  func(error) bool
		count int
	}{
		{[]string{"2", "page"}, func(err error) bool { return errors.Is(err, io.EOF) }, 5},
		{[]string{"superseded"}, func(err error) bool { return errors.Is(err, client.ErrSuperseded) }, 5},
		{[]string{"2", "404"}, func(err error) bool { return client.IsCode(err, "some_id") }, 2},
	} {
		m := serve(t, 5, c.moods...)
		stream, err := m.client.Events(context.Background(), "x", client.EventsOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := all(stream)
		if !c.want(err) || len(got) != c.count {
			t.Errorf("%v: %d events, %v", c.moods, len(got), err)
		}
		if stream.HasMore() != (c.moods[len(c.moods)-1] == "page") {
			t.Errorf("%v: has more %t", c.moods, stream.HasMore())
		}
	}
}

func TestStreamStates(t *testing.T) {
	m := serve(t, 2, "1")
	var states []string
	stream, err := m.client.Events(context.Background(), "x", client.EventsOptions{
		After: "evt_000", OnState: func(s client.StreamState) { states = append(states, s.State+" "+s.Cursor) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := all(stream); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"catching_up ", "reconnecting evt_001", "catching_up "}, states); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"evt_000", "evt_001"}, m.seen); diff != "" {
		t.Error(diff)
	}
}

func TestStreamIsRefusedAtOnce(t *testing.T) {
	m := serve(t, 0, "401")
	if _, err := m.client.Events(context.Background(), "x", client.EventsOptions{}); !client.IsCode(err, "some_id") {
		t.Fatalf("want a refusal, got %v", err)
	}
}

func TestStreamGivesUp(t *testing.T) {
	m := serve(t, 3, append([]string{"1"}, strings.Split(strings.Repeat("503 ", 10_000), " ")...)...)
	stream, err := m.client.Events(context.Background(), "x", client.EventsOptions{GiveUp: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := all(stream); !client.IsCode(err, "some_id") {
		t.Fatalf("want the last failure, got %v", err)
	}
}

func TestStreamEndsWithItsContext(t *testing.T) {
	m := serve(t, 3, append([]string{"1"}, strings.Split(strings.Repeat("503 ", 10_000), " ")...)...)
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("enough")
	stream, err := m.client.Events(ctx, "x", client.EventsOptions{OnState: func(s client.StreamState) {
		if s.State == "reconnecting" {
			cancel(why)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := all(stream); !errors.Is(err, why) {
		t.Fatalf("want the context's cause, got %v", err)
	}
}
