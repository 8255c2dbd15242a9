package sse

import (
	"context"

	"paddock/internal/event"
	"paddock/internal/id"
	"paddock/internal/store"
)

// Log is a history: one session's, or that of all sessions of a team. Its events
// have places, which grow.
type Log interface {
	// Name tells this history from all others.
	Name() string

	// Session is whose history it is; zero: all of a team.
	Session() id.Session

	// Place is where an event of the history stands.
	Place(e event.Event) int64

	// Read gives a piece of the history, in order; the page speaks of places. All
	// that follow page.After up to the place upTo, and that the page is about, are
	// among them.
	Read(ctx context.Context, page store.EventPage) (events []event.Event, upTo int64, err error)

	// Find finds the place of an event by its id; known is false when the history
	// has no such event.
	Find(ctx context.Context, cursor string) (place int64, known bool, err error)

	// Recent gives the place after which the recent history begins.
	Recent(ctx context.Context) (after int64, err error)

	// Waiting gives the questions that wait for a person and stand at a place or
	// before it, in order.
	Waiting(ctx context.Context, upTo int64, raw bool) ([]event.Event, error)

	// Last is the place of the newest published event, 0 when there is none.
	Last() int64

	// Changed gives a channel that is closed once an event after a place is
	// published, or nothing will ever follow.
	Changed(after int64) <-chan struct{}

	// Ended says whether nothing will ever follow Last.
	Ended() bool
}
