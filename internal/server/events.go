package server

import (
	"net/http"
	"slices"
	"strings"

	"paddock/internal/event"
	"paddock/internal/fault"
	"paddock/internal/server/sse"
)

func (e *edge) streamEvents(w http.ResponseWriter, r request) error {
	return e.giveEvents(w, r, func() (feed, error) { return e.engine.Feed(r.Context(), r.who.Team, r.PathValue("session")) })
}

func (e *edge) streamTeamEvents(w http.ResponseWriter, r request) error {
	return e.giveEvents(w, r, func() (feed, error) { return e.engine.TeamFeed(r.Context(), r.who.Team) })
}

// giveEvents answers with a history, as a stream or as a long poll.
func (e *edge) giveEvents(w http.ResponseWriter, r request, open func() (feed, error)) error {
	if wantsJSON(r.Request) {
		return e.pollEvents(w, r, open)
	}
	for _, name := range []string{"after", "wait"} {
		if r.URL.Query().Has(name) {
			return fault.New(fault.BadRequest, "%s is for long polls: send Accept: application/json with it", name)
		}
	}
	want, err := sse.Parse(r.Request)
	if err != nil {
		return err
	}
	log, err := open()
	if err != nil {
		return err
	}
	defer log.Close()
	ctx, cancel := untilStop(r.Request)
	defer cancel()
	return e.streams.All(ctx, w, r.Request, log, want)
}

func (e *edge) streamRunEvents(w http.ResponseWriter, r request) error {
	want, err := sse.Parse(r.Request)
	if err != nil {
		return err
	}
	ref := r.PathValue("session")
	log, err := e.engine.Feed(r.Context(), r.who.Team, ref)
	if err != nil {
		return err
	}
	defer log.Close()
	run, err := e.engine.Run(r.Context(), r.who.Team, ref, r.PathValue("run"))
	if err != nil {
		return err
	}
	ctx, cancel := untilStop(r.Request)
	defer cancel()
	return e.streams.Run(ctx, w, r.Request, log, run.ID, run.State.Ended(), want)
}

func (e *edge) pollEvents(w http.ResponseWriter, r request, open func() (feed, error)) error {
	for name := range r.URL.Query() {
		if !slices.Contains([]string{"after", "wait", "types", "include_raw"}, name) {
			return fault.New(fault.BadRequest, "%s is for streams: a long poll takes after, wait, types and include_raw", name)
		}
	}
	want, err := sse.ParsePoll(r.Request)
	if err != nil {
		return err
	}
	log, err := open()
	if err != nil {
		return err
	}
	defer log.Close()
	ctx, cancel := untilStop(r.Request)
	defer cancel()
	got, err := sse.Poll(ctx, log, want)
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	answer := jsonAnswer(http.StatusOK, pollEnd{got.Cursor, got.Truncated, got.Ended})
	answer.Body = append(polledEvents(got.Events, want.Raw), answer.Body[1:]...)
	writeAnswer(w, answer)
	return nil
}

// pollEnd is the end of the answer to a long poll (api/openapi.yaml, EventPage),
// and polledEvents its beginning: the events in the form that they have on a
// stream, without looking through their payloads again.
type pollEnd struct {
	Cursor    string `json:"cursor"`
	Truncated bool   `json:"truncated,omitempty"`
	Ended     bool   `json:"ended,omitempty"`
}

func polledEvents(events []event.Event, raw bool) []byte {
	size := 1 << 10
	for _, e := range events {
		size += e.EnvelopeSize(raw)
	}
	body := append(make([]byte, 0, size), `{"events":[`...)
	for i, e := range events {
		if i > 0 {
			body = append(body, ',')
		}
		body = e.AppendEnvelope(body, raw)
	}
	return append(body, "],"...)
}

// wantsJSON says whether a caller asks for JSON and not for a stream.
func wantsJSON(r *http.Request) bool {
	accept := r.Header.Get("Accept")
	return strings.Contains(accept, "application/json") && !strings.Contains(accept, "text/event-stream")
}
