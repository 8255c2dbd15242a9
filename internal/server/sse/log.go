package sse

import (
	"context"

	"paddock/internal/event"
	"paddock/internal/id"
	"paddock/internal/store"
)

// Log is one session's history.
type Log interface {
	// Session is whose history it is.
	Session() id.Session

	// Read gives a piece of the history, in order. Only published events.
	Read(ctx context.Context, page store.EventPage) ([]event.Event, error)

	// Seq finds the place of an event by its id; known is false when the history
	// has no such event.
	Seq(ctx context.Context, cursor string) (seq int64, known bool, err error)

	// Recent gives the seq after which the recent history begins.
	Recent(ctx context.Context) (after int64, err error)

	// Last is the seq of the newest published event, 0 when there is none.
	Last() int64

	// Changed gives a channel that is closed once an event after seq is
	// published, or nothing will ever follow.
	Changed(after int64) <-chan struct{}

	// Ended says whether nothing will ever follow Last.
	Ended() bool
}
