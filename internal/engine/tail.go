package engine

import (
	"slices"
	"sort"
	"sync"

	"paddock/internal/event"
	"paddock/internal/store"
)

// The size of a tail.
const (
	tailEvents = 128
	tailBytes  = 32 << 10
)

// tailReach is how far behind the newest event a reader may be whom the tail
// still serves. Who reads a history from its beginning has it for himself.
const tailReach = 8 * tailEvents

// tail holds the newest events of a history, without their native bytes, so that
// a thousand readers who wait for the next event read the store once. It fills
// when it is read: an event that nobody waits for costs nothing.
type tail struct {
	place func(event.Event) int64

	mu     sync.Mutex // held while loading: the others want the same events
	from   int64      // events are all that follow this place, as far as they go
	events []event.Event
}

// since gives events that follow a place, up to another, where last is that of
// the newest. ok is false when the reader is too far behind.
func (t *tail) since(after, last int64, load func(store.EventPage) ([]event.Event, error)) (_ []event.Event, upTo int64, ok bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case after < t.from, after >= t.end() && last-after > tailReach:
		return nil, 0, false, nil
	case after > t.end(): // the first reader for a while
		t.from, t.events = after, nil
	}
	if after == t.end() && after < last {
		more, err := load(store.EventPage{After: after, Limit: tailEvents, Bytes: tailBytes})
		if err != nil {
			return nil, 0, false, err
		}
		t.events = slices.Concat(t.events, more)
	}
	upTo = t.end()
	first := sort.Search(len(t.events), func(i int) bool { return t.place(t.events[i]) > after })
	found := slices.Clip(t.events[first:])
	t.trim()
	return found, upTo, true, nil
}

// end is how far the events go.
func (t *tail) end() int64 {
	if n := len(t.events); n > 0 {
		return t.place(t.events[n-1])
	}
	return t.from
}

// trim lets the oldest events go, and all when one of them is that large.
func (t *tail) trim() {
	keep, bytes := len(t.events), 0
	for keep > 0 && len(t.events)-keep < tailEvents {
		if bytes += len(t.events[keep-1].Data); bytes > tailBytes {
			break
		}
		keep--
	}
	if keep == 0 {
		return
	}
	t.from = t.place(t.events[keep-1])
	t.events = slices.Clone(t.events[keep:]) // the others' memory is free once they are read
}

// chosen gives the events that a page is about, none left out for their number.
func chosen(events []event.Event, page store.EventPage) []event.Event {
	if page.Run.IsZero() && len(page.Kinds) == 0 {
		return events
	}
	var found []event.Event
	for _, e := range events {
		if (page.Run.IsZero() || e.Run == page.Run) && (len(page.Kinds) == 0 || slices.Contains(page.Kinds, e.Kind)) {
			found = append(found, e)
		}
	}
	return found
}
