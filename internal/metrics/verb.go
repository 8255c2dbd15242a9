package metrics

import (
	"context"
	"errors"
	"time"

	"paddock/internal/fault"
)

// Verb is what the server is asked to do, or does by itself.
type Verb string

// The closed set of verbs.
const (
	Create Verb = "create" // until the session is ready
	Pause  Verb = "pause"
	Resume Verb = "resume"
	Remove Verb = "remove" // until nothing of the session is left
	Input  Verb = "input"  // until the run is stored
	Cancel Verb = "cancel"
	Answer Verb = "answer"
	Exec   Verb = "exec" // as long as the command runs
	List   Verb = "list_files"
	Read   Verb = "read_file" // until the file is open
)

// The outcomes of a verb.
const (
	outcomeOK      = "ok"
	outcomeRefused = "refused" // it was not possible, or not allowed
	outcomeLeft    = "left"    // the caller went away, or the server stopped
	outcomeFailed  = "failed"  // and should not have
)

// Verb notes how long a verb took and, by its error, what came of it.
func (m *Metrics) Verb(v Verb, d time.Duration, err error) {
	if m != nil {
		m.verbs.WithLabelValues(string(v), outcome(err)).Observe(d.Seconds())
	}
}

func outcome(err error) string {
	var f *fault.Error
	switch {
	case err == nil:
		return outcomeOK
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return outcomeLeft
	case errors.As(err, &f):
		switch f.Code {
		case fault.Internal, fault.BadGateway, fault.NoSpace:
			return outcomeFailed
		default:
			return outcomeRefused
		}
	default:
		return outcomeFailed
	}
}
