package sse

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"paddock/internal/event"
	"paddock/internal/fault"
	"paddock/internal/id"
	"paddock/internal/spelling"
	"paddock/internal/store"
)

// The sizes of pages, in events.
const (
	readPage     = 128      // read from the log at once
	readBytes    = 32 << 10 // read from the log at once; of one stream that is all that is held for its reader
	defaultLimit = 200      // of a page backwards
	maxLimit     = 1000     // of a page backwards
)

// Request is what a reader asks for.
type Request struct {
	Cursor     string       // event id: everything strictly after it
	ReplayOnly bool         // end where the stored history ends
	Before     string       // event id, with ReplayOnly: one page of what came before it
	Limit      int          // events of that page, 1–1000
	Kinds      []event.Kind // only these; empty: all
	Raw        bool         // with the agent's own frames
	Device     string       // a newer live stream of the same device ends this one
}

// Parse reads a request for a stream. Faults are BadRequest.
func Parse(r *http.Request) (Request, error) {
	query := r.URL.Query()
	want := Request{
		// A browser repeats the URL when it reconnects: the header knows better.
		Cursor: cmp.Or(r.Header.Get("Last-Event-ID"), query.Get("replay_from"), query.Get("cursor")),
		Before: query.Get("before"),
		Limit:  defaultLimit,
		Device: cmp.Or(query.Get("device_id"), r.Header.Get("X-Device-UUID")),
	}
	var err error
	if want.ReplayOnly, err = flag(query, "replay_only"); err != nil {
		return Request{}, err
	}
	if want.Raw, err = flag(query, "include_raw"); err != nil {
		return Request{}, err
	}
	if want.Kinds, err = kinds(query); err != nil {
		return Request{}, err
	}
	if text := query.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return Request{}, fault.New(fault.BadRequest, "limit: %q is not a number above zero", text)
		}
		want.Limit = min(n, maxLimit)
	}
	if want.Before != "" && !want.ReplayOnly {
		return Request{}, fault.New(fault.BadRequest, "before needs replay_only=true: a live stream cannot begin in the past")
	}
	return want, nil
}

// flag reads a boolean query parameter; absent is false.
func flag(query url.Values, name string) (bool, error) {
	switch query.Get(name) {
	case "true", "1":
		return true, nil
	case "false", "0", "":
		return false, nil
	}
	return false, fault.New(fault.BadRequest, "%s: %q is neither true nor false", name, query.Get(name))
}

// kinds reads the query parameter types.
func kinds(query url.Values) ([]event.Kind, error) {
	if !query.Has("types") {
		return nil, nil
	}
	var chosen []event.Kind
	for word := range strings.SplitSeq(query.Get("types"), ",") {
		kind := event.Kind(strings.TrimSpace(word))
		if !slices.Contains(event.Kinds, kind) {
			return nil, fault.New(fault.BadRequest, "types: there is no type %.64q%s", word, meant(word))
		}
		chosen = append(chosen, kind)
	}
	return chosen, nil
}

// meant says which type was probably meant.
func meant(word string) string {
	known := make([]string, len(event.Kinds))
	for i, kind := range event.Kinds {
		known[i] = string(kind)
	}
	if nearest := spelling.Nearest(word, known); nearest != "" {
		return fmt.Sprintf("; did you mean %q?", nearest)
	}
	return "; known are " + strings.Join(known, ", ")
}

// span is the part of a history that a stream gives: what comes after a place,
// up to an end, or with live on and on.
type span struct {
	after     int64
	until     int64 // last place; unless live
	live      bool
	waiting   []event.Event // what was asked before after, and still waits
	run       id.Run        // only events of this run, which end the stream; zero: all
	kinds     []event.Kind  // only these; empty: all
	raw       bool
	cursor    string // as asked for, when it is known
	truncated bool   // the cursor is not known: from the beginning
	page      bool   // says at its end whether there is something before it
	more      bool   // there is
}

// choice are the kinds to read: those that are wanted, and those that end a run
// when the stream is to end with it.
func (part span) choice() []event.Kind {
	if len(part.kinds) == 0 || part.run.IsZero() {
		return part.kinds
	}
	return append(slices.DeleteFunc(slices.Clone(event.Kinds), func(k event.Kind) bool { return !k.Terminal() }), part.kinds...)
}

// wants says whether the reader is to see an event that was read.
func (part span) wants(e event.Event) bool {
	return len(part.kinds) == 0 || slices.Contains(part.kinds, e.Kind)
}

// span finds the part of the history that a request for a session's stream is
// about.
func (want Request) span(ctx context.Context, log Log) (span, error) {
	s := span{live: !want.ReplayOnly, until: log.Last(), raw: want.Raw, kinds: want.Kinds}
	if want.Before != "" {
		before, known, err := log.Find(ctx, want.Before)
		if err != nil {
			return span{}, err
		}
		if !known {
			return span{}, fault.New(fault.BadRequest, "before: there is no event %q in this history", want.Before)
		}
		s.page, s.until = true, before-1
		page, _, err := log.Read(ctx, store.EventPage{Before: before, Limit: want.Limit + 1, Kinds: want.Kinds, Bare: true})
		if err != nil {
			return span{}, err
		}
		if s.more = len(page) > want.Limit; s.more {
			s.after = log.Place(page[0])
		}
	}
	if want.Cursor == "" {
		if s.live {
			var err error
			if s.after, err = log.Recent(ctx); err == nil {
				s.waiting, err = log.Waiting(ctx, s.after, s.raw)
			}
			return s, err
		}
		return s, nil
	}
	after, known, err := log.Find(ctx, want.Cursor)
	if err != nil {
		return span{}, err
	}
	s.after = max(s.after, after)
	s.truncated = !known
	if known {
		s.cursor = want.Cursor
	}
	return s, nil
}
