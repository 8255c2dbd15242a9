package sse

import (
	"context"
	"net/http"
	"time"

	"paddock/internal/event"
	"paddock/internal/fault"
	"paddock/internal/store"
)

// What bounds one answer: its events, and their payloads but for the last.
const (
	pollPage  = 256
	pollBytes = 256 << 10
)

// maxWait bounds a long poll; what stands between is said to cut at a minute.
const maxWait = 60 * time.Second

// PollRequest is what a long poll asks for.
type PollRequest struct {
	After string        // event id; empty: from the beginning
	Wait  time.Duration // how long to wait when there is nothing
	Kinds []event.Kind  // only these; empty: all
	Raw   bool          // with the agent's own frames
}

// Polled is its answer.
type Polled struct {
	Events    []event.Event // at most pollPage, in order
	Cursor    string        // what to ask for the next time
	Truncated bool          // After named no event: this is the beginning
	Ended     bool          // nothing will ever follow
}

// ParsePoll reads a request for a long poll. Faults are BadRequest.
func ParsePoll(r *http.Request) (PollRequest, error) {
	query := r.URL.Query()
	want := PollRequest{After: query.Get("after")}
	var err error
	if want.Raw, err = flag(query, "include_raw"); err != nil {
		return PollRequest{}, err
	}
	if want.Kinds, err = kinds(query); err != nil {
		return PollRequest{}, err
	}
	if text := query.Get("wait"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 {
			return PollRequest{}, fault.New(fault.BadRequest, "wait: %q is not a duration such as 30s", text)
		}
		want.Wait = min(d, maxWait)
	}
	return want, nil
}

// Poll gives the events after a place, waiting a while for the first. The end
// of ctx is no error: then there are none.
func Poll(ctx context.Context, log Log, want PollRequest) (Polled, error) {
	answer := Polled{Cursor: want.After}
	var at int64
	if want.After != "" {
		after, known, err := log.Find(ctx, want.After)
		if err != nil {
			return Polled{}, err
		}
		if !known {
			answer.Truncated, answer.Cursor = true, ""
		}
		at = after
	}
	patience := time.NewTimer(want.Wait)
	defer patience.Stop()
	for {
		ended := log.Ended() // before reading: then what is read is not older
		events, upTo, err := log.Read(ctx, store.EventPage{After: at, Kinds: want.Kinds, Limit: pollPage, Bytes: pollBytes, Raw: want.Raw})
		if ctx.Err() != nil {
			return answer, nil
		}
		if err != nil {
			return Polled{}, err
		}
		at = max(at, upTo)
		answer.Ended = ended && at >= log.Last()
		if len(events) > 0 {
			answer.Events, answer.Cursor = events, events[len(events)-1].ID.String()
		}
		if len(events) > 0 || answer.Ended {
			return answer, nil
		}
		select {
		case <-log.Changed(at):
		case <-patience.C:
			return answer, nil
		case <-ctx.Done():
			return answer, nil
		}
	}
}
