package engine

import (
	"context"
	"sync"

	"paddock/internal/event"
	"paddock/internal/store"
)

// hub tells readers that a history, K says whose, has events up to some place.
// Readers fetch them at their own pace, so a slow one costs nothing; the newest
// are read from the store once for all who wait for them.
type hub[K comparable] struct {
	read  func(ctx context.Context, key K, page store.EventPage) ([]event.Event, error)
	place func(event.Event) int64

	mu     sync.Mutex
	topics map[K]*topic
}

// topic is a history that somebody reads.
type topic struct {
	readers int
	last    int64
	ended   bool
	changed chan struct{} // closed and replaced at each publication
	tail    tail
}

// newHub makes a hub over histories that are read by read and ordered by place.
func newHub[K comparable](read func(context.Context, K, store.EventPage) ([]event.Event, error), place func(event.Event) int64) *hub[K] {
	return &hub[K]{read: read, place: place, topics: map[K]*topic{}}
}

// open counts a reader in.
func (h *hub[K]) open(key K) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.topics[key]
	if t == nil {
		t = &topic{changed: make(chan struct{}), tail: tail{place: h.place}}
		h.topics[key] = t
	}
	t.readers++
}

// close counts a reader out.
func (h *hub[K]) close(key K) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := h.topics[key]; t != nil {
		if t.readers--; t.readers == 0 {
			delete(h.topics, key)
		}
	}
}

// publish wakes the readers of a history; last 0 means that no event is new.
func (h *hub[K]) publish(key K, last int64, ended bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.topics[key]
	if t == nil || (last <= t.last && ended == t.ended) {
		return
	}
	t.last = max(t.last, last)
	t.ended = t.ended || ended
	close(t.changed)
	t.changed = make(chan struct{})
}

// state gives what is published of a history that is open.
func (h *hub[K]) state(key K) (last int64, ended bool, changed <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.topics[key]
	return t.last, t.ended, t.changed
}

// changed gives a channel that is closed once something after a place of a
// history that is open is published, or the history has ended.
func (h *hub[K]) changed(key K, after int64) <-chan struct{} {
	last, ended, changed := h.state(key)
	if last > after || ended {
		return closed
	}
	return changed
}

var closed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// events reads a page of a history that is open. Every event of the page's
// choice that stands behind page.After and up to the place upTo is among them.
func (h *hub[K]) events(ctx context.Context, key K, page store.EventPage) (_ []event.Event, upTo int64, err error) {
	h.mu.Lock()
	t := h.topics[key]
	last := t.last // before reading: then what is read is not older
	h.mu.Unlock()
	if page.Before == 0 && !page.Raw && !page.Bare {
		load := func(page store.EventPage) ([]event.Event, error) { return h.read(ctx, key, page) }
		recent, upTo, ok, err := t.tail.since(page.After, last, load)
		if ok || err != nil {
			return chosen(recent, page), upTo, err
		}
	}
	events, err := h.read(ctx, key, page)
	if err != nil {
		return nil, 0, err
	}
	if len(events) > 0 {
		upTo = h.place(events[len(events)-1])
	}
	if !page.Full(events) {
		upTo = max(upTo, last)
	}
	return events, upTo, nil
}
