// Package notify tells somebody outside that something waits for a person or
// that a run has ended: over HTTP, or by a command of this host's. A delivery
// that fails is repeated by whoever asked for it, under the same id.
package notify

import (
	"context"
	"time"
)

// Notice is what is told.
type Notice struct {
	ID   string // the same at each attempt, so that a receiver can tell it was there before
	Type string // the kind of event that it tells of
	Body []byte // JSON
}

// Channel is one way out. It is safe for concurrent use.
type Channel interface {
	// Name is stored with what is still to be delivered by it.
	Name() string

	// Deliver hands a notice over. nil means that it was taken; after an error,
	// or when the caller dies, the same notice is handed over again.
	Deliver(ctx context.Context, n Notice) error
}

// attempt is how long one delivery may take.
const attempt = 15 * time.Second
