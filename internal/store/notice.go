package store

import (
	"time"

	"paddock/internal/event"
	"paddock/internal/id"
)

// Notice is something that is still to be told to somebody outside.
type Notice struct {
	ID        id.Notice
	Channel   string // by which it goes out
	Session   id.Session
	Kind      event.Kind // of the event that it tells of
	Body      []byte
	CreatedAt time.Time
	DueAt     time.Time // of the next attempt
	Attempts  int       // that failed
}
