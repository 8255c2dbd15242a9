package store

import (
	"time"

	"paddock/internal/id"
)

// Receipt is what is kept of a call that was made under a key of its caller's,
// so that the call can be repeated without being done again.
type Receipt struct {
	Team      id.Team
	Key       string  // unique in the team
	Request   string  // digest of all that was asked
	Exec      id.Exec // of an exec: its id in the guest
	Answer    *Answer // nil: the call is under way, or was when the server died
	CreatedAt time.Time
}

// Answer is an answer of the API, to be given again byte for byte.
type Answer struct {
	Status int               // of HTTP
	Header map[string]string // beside those that every answer has
	Body   []byte            // may be empty
	Sealed bool              // Body is sealed: it may have secrets in it
}
