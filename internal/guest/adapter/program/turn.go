package program

import (
	"sync"

	"paddock/internal/event"
	"paddock/internal/guestapi"
)

// Turn is what every adapter knows of the turn that it plays. Its lock guards its
// fields, and what an adapter adds to them; as sink calls wait while the journal
// is full, it is never held across one.
type Turn[P Running] struct {
	sync.Mutex
	Cancel    chan struct{} // closed with Cancelled; may be read without the lock
	Cancelled bool
	Over      bool // nothing more is asked
	Process   P    // that has the prompt; zero before
}

// NewTurn makes a turn of which nothing has begun.
func NewTurn[P Running]() Turn[P] { return Turn[P]{Cancel: make(chan struct{})} }

// Stop notes that the turn is to be cancelled; false when that is known already.
// The lock is held.
func (t *Turn[P]) Stop() (first bool) {
	if t.Cancelled {
		return false
	}
	t.Cancelled = true
	close(t.Cancel)
	return true
}

// Open says whether somebody may still answer: a turn that has begun and is
// neither over nor being cancelled. The lock is held.
func (t *Turn[P]) Open() bool {
	var none P
	return !t.Cancelled && !t.Over && t.Process != none
}

// IsCancelled says whether the turn is to be cancelled.
func (t *Turn[P]) IsCancelled() bool {
	t.Lock()
	defer t.Unlock()
	return t.Cancelled
}

// Plays says whether the process has the turn's prompt.
func (t *Turn[P]) Plays(p P) bool {
	t.Lock()
	defer t.Unlock()
	return t.Process == p
}

// Failed is the end of a turn that failed; the message is a sentence for people.
func Failed(code event.FailureCode, message string) guestapi.End {
	return guestapi.End{Outcome: guestapi.EndFailed, Code: code, Message: message}
}
