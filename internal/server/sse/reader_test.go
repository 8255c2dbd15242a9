package sse_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/digitalocean/godo"

	"paddock/internal/fault"
	"paddock/internal/id"
	"paddock/internal/server/sse"
)

// service serves one history.
type service struct {
	*httptest.Server
	log     *memory
	run     id.Run // of /run
	runDone bool
	stop    context.CancelFunc // as the server's shutdown
	ended   chan error         // how each stream ended
}

func serve(t interface {
	Fatal(...any)
	Cleanup(func())
}, log *memory, options sse.Options) *service {
	streams := sse.New(options)
	stopping, stop := context.WithCancel(context.Background())
	s := &service{log: log, stop: stop, ended: make(chan error, 100)}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithCancel(r.Context())
		defer context.AfterFunc(stopping, cancel)()
		defer cancel()
		want, err := sse.Parse(r)
		switch {
		case err != nil:
		case r.URL.Path == "/run":
			err = streams.Run(ctx, w, r, log, s.run, s.runDone, want)
		default:
			err = streams.All(ctx, w, r, log, want)
		}
		if fault.Is(err, fault.BadRequest) {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
		s.ended <- err
	}))
	t.Cleanup(func() {
		stop()
		s.Client().CloseIdleConnections()
		s.Close()
	})
	return s
}

// reader reads a stream with the public client's own parser.
type reader struct {
	t        testing.TB
	response *http.Response
	events   *godo.SSEReader
	comments []string
}

func (s *service) open(t testing.TB, path string, headers ...string) *reader {
	t.Helper()
	request, _ := http.NewRequest(http.MethodGet, s.URL+path, nil)
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := s.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{t: t, response: response, events: godo.NewSSEReader(response.Body)}
	r.events.OnComment = func(text []byte) { r.comments = append(r.comments, string(text)) }
	return r
}

// next gives the next frame in the public client's form; ok is false at the end.
func (r *reader) next() (event godo.HostedAgentEvent, ok bool) {
	r.t.Helper()
	frame, err := r.events.Next()
	if errors.Is(err, io.EOF) {
		return event, false
	}
	if err != nil {
		r.t.Fatal(err)
	}
	if err := json.Unmarshal(frame.Data, &event); err != nil {
		r.t.Fatalf("frame %s: %v", frame.Data, err)
	}
	if string(event.Kind) != frame.Event {
		r.t.Fatalf("event: %s, type: %s", frame.Event, event.Kind)
	}
	return event, true
}

// state reads a frame that has to be a stream.state.
func (r *reader) state() godo.HostedAgentStreamState {
	r.t.Helper()
	event, ok := r.next()
	if !ok || event.Kind != godo.HostedAgentEventKindStreamState {
		r.t.Fatalf("want a stream.state, got %+v (%t)", event, ok)
	}
	if event.SessionID == "" || event.At.IsZero() || event.EventID != "" {
		r.t.Fatalf("stream.state frame %+v", event)
	}
	var state godo.HostedAgentStreamState
	if err := json.Unmarshal(event.Payload, &state); err != nil {
		r.t.Fatal(err)
	}
	return state
}

// ids reads n events.
func (r *reader) ids(n int) []string {
	r.t.Helper()
	var ids []string
	for range n {
		event, ok := r.next()
		if !ok || event.EventID == "" {
			r.t.Fatalf("want event %d of %d, got %+v (%t)", len(ids)+1, n, event, ok)
		}
		ids = append(ids, event.EventID)
	}
	return ids
}

// atEnd fails when anything follows.
func (r *reader) atEnd() {
	r.t.Helper()
	if event, ok := r.next(); ok {
		r.t.Fatalf("want the end, got %+v", event)
	}
	r.response.Body.Close()
}

func (r *reader) last() string { return r.comments[len(r.comments)-1] }

func get(t testing.TB, s *service, path string) (int, string) {
	t.Helper()
	response, err := s.Client().Get(s.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	return response.StatusCode, strings.TrimSpace(string(text))
}

const soon = 10 * time.Second
