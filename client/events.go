package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// EventsOptions choose what a stream gives. The zero value is the recent
// history and then what happens, for as long as the session exists.
type EventsOptions struct {
	After      string   // event id: everything strictly after it
	ReplayOnly bool     // the stored history from the beginning (or After), then the end
	Before     string   // event id, with ReplayOnly: one page of what came before it
	Limit      int      // of such a page; 0: 200, at most 1000
	Run        string   // only this run's events; the stream ends with the run
	Types      []string // only events of these types; empty: all
	Raw        bool     // with the agent's own frames
	Device     string   // a newer stream of the same device ends this one

	// GiveUp bounds how long a cut stream is without a server before Next fails;
	// 0 means a minute.
	GiveUp time.Duration
	// OnState is told, from within Next, how the stream stands.
	OnState func(StreamState)
}

// StreamState is how a stream stands.
type StreamState struct {
	State     string `json:"state"`            // catching_up, live, superseded; reconnecting (made here)
	Cursor    string `json:"cursor,omitempty"` // the event after which it goes on
	Truncated bool   `json:"truncated,omitempty"`
}

// ErrSuperseded ends a stream whose device has opened a newer one.
var ErrSuperseded = errors.New("a newer stream of this device took over")

// silence is after how long without a byte a connection counts as dead; the
// server writes at least every 15 s.
const silence = 45 * time.Second

// EventStream reads events and resumes by itself when its connection is cut:
// each event comes once and in order. It is for one reader at a time.
type EventStream struct {
	client  *Client
	ctx     context.Context // of the stream's life, as http.Request has one
	close   context.CancelFunc
	call    call
	options EventsOptions

	last    string // id of the last event given
	before  Event  // that event, without what may be large
	conn    *connection
	hasMore bool
	err     error // how it ended
}

// connection is one attempt's response.
type connection struct {
	frames *frames
	body   io.ReadCloser
	cancel context.CancelFunc
	alive  *time.Timer
}

// Events opens a stream and returns once the server has accepted it: what
// happens after that is not missed. The caller closes the stream; the end of
// ctx ends it too.
func (c *Client) Events(ctx context.Context, ref string, options EventsOptions) (*EventStream, error) {
	if options.Run != "" {
		return c.stream(ctx, []string{"sessions", ref, "runs", options.Run, "events"}, options)
	}
	return c.stream(ctx, []string{"sessions", ref, "events"}, options)
}

// TeamEvents is Events for all sessions of the team, those that come later
// included, in the order in which their events became durable. Any event of the
// team will do for After and Before; Run means nothing here.
func (c *Client) TeamEvents(ctx context.Context, options EventsOptions) (*EventStream, error) {
	return c.stream(ctx, []string{"events"}, options)
}

func (c *Client) stream(ctx context.Context, path []string, options EventsOptions) (*EventStream, error) {
	if options.GiveUp <= 0 {
		options.GiveUp = time.Minute
	}
	s := &EventStream{client: c, options: options, last: options.After}
	s.call = call{method: http.MethodGet, path: path, query: s.query()}
	s.ctx, s.close = context.WithCancel(ctx)
	if err := s.connect(); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// query is what the options say, the place to resume from apart.
func (s *EventStream) query() url.Values {
	query := values("before", s.options.Before, "limit", positive(s.options.Limit), "device_id", s.options.Device,
		"types", strings.Join(s.options.Types, ","))
	if s.options.ReplayOnly {
		query.Set("replay_only", "true")
	}
	if s.options.Raw {
		query.Set("include_raw", "true")
	}
	return query
}

// Next waits for the next event. io.EOF is the end: of the replay, of the run,
// or of the session. Any error is final.
func (s *EventStream) Next() (Event, error) {
	for s.err == nil {
		event, err := s.read()
		switch {
		case err == nil:
			return event, nil
		case errors.Is(err, errCut):
			s.err = s.reconnect()
		default:
			s.err = err
		}
	}
	s.Close()
	return Event{}, s.err
}

// HasMore says, after the end of a page, whether there are older events.
func (s *EventStream) HasMore() bool { return s.hasMore }

// Close ends the stream; a Next that waits fails. Again is no error.
func (s *EventStream) Close() error {
	s.close()
	return nil
}

// errCut reports a connection that ended though the stream has not.
var errCut = errors.New("the stream was cut")

// read takes frames off the connection up to the next event.
func (s *EventStream) read() (Event, error) {
	for {
		got, err := s.conn.frames.next()
		if err != nil {
			s.conn.end()
			if s.ctx.Err() != nil {
				return Event{}, context.Cause(s.ctx)
			}
			return Event{}, errCut // a stream that is over says so
		}
		more, page := strings.CutPrefix(got.comment, "has_more=")
		switch {
		case page:
			s.hasMore = more == "true"
			s.conn.end()
			return Event{}, io.EOF
		case got.comment == "end":
			s.conn.end()
			return Event{}, io.EOF
		case got.comment != "":
		case got.event == "stream.state":
			if err := s.state(got.data); err != nil {
				return Event{}, err
			}
		default:
			event, err := decodeEvent(got.data, s.before)
			if err != nil {
				return Event{}, fmt.Errorf("decode event: %w", err)
			}
			s.last, s.before = event.EventID, event
			s.before.Data, s.before.SourceRaw = nil, nil
			return event, nil
		}
	}
}

// state handles a frame about the stream itself.
func (s *EventStream) state(data []byte) error {
	var envelope struct {
		Data StreamState `json:"data"`
	}
	if err := json.Unmarshal(data, &envelope); err != nil {
		return fmt.Errorf("decode stream state: %w", err)
	}
	if s.options.OnState != nil {
		s.options.OnState(envelope.Data)
	}
	if envelope.Data.State == "superseded" {
		s.conn.end()
		return ErrSuperseded
	}
	return nil
}

// connect opens a connection that goes on after the last event given.
func (s *EventStream) connect() error {
	ctx, cancel := context.WithCancel(s.ctx)
	what := s.call
	what.headers = map[string]string{"Accept": "text/event-stream"}
	if s.last != "" {
		what.headers["Last-Event-ID"] = s.last
	}
	alive := time.AfterFunc(silence, cancel)
	response, err := s.client.send(ctx, what)
	if err != nil {
		alive.Stop()
		cancel()
		return err
	}
	s.conn = &connection{body: response.Body, cancel: cancel, alive: alive}
	s.conn.frames = newFrames(s.conn)
	return nil
}

// Read passes the body on and notes that the server is alive.
func (c *connection) Read(p []byte) (int, error) {
	n, err := c.body.Read(p)
	if n > 0 {
		c.alive.Reset(silence)
	}
	return n, err
}

// end lets the connection go; again is harmless.
func (c *connection) end() {
	c.alive.Stop()
	c.cancel()
	c.body.Close()
}

// reconnect tries until a server answers. It gives up on a refusal, when the
// stream is closed, or after GiveUp.
func (s *EventStream) reconnect() error {
	if s.options.OnState != nil {
		s.options.OnState(StreamState{State: "reconnecting", Cursor: s.last})
	}
	patience := time.NewTimer(s.options.GiveUp)
	defer patience.Stop()
	for wait := s.client.options.Backoff; ; wait = min(2*wait, s.client.options.MaxBackoff) {
		pause := time.NewTimer(wait)
		select {
		case <-pause.C:
		case <-s.ctx.Done():
			pause.Stop()
			return context.Cause(s.ctx)
		}
		err := s.connect()
		var refused *Error
		switch {
		case err == nil:
			return nil
		case s.ctx.Err() != nil:
			return context.Cause(s.ctx)
		case errors.As(err, &refused) && refused.Status < 500:
			return err
		}
		select {
		case <-patience.C:
			return fmt.Errorf("resume the stream: %w", err)
		default:
		}
	}
}
