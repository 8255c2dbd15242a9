package fault

import (
	"context"
	"errors"
)

// Outcome is what came of something that was asked for, in a word.
type Outcome string

// The closed set of outcomes.
const (
	OK      Outcome = "ok"
	Refused Outcome = "refused" // it was not possible, or not allowed
	Left    Outcome = "left"    // the caller went away, or the server stopped
	Failed  Outcome = "failed"  // and should not have
)

// OutcomeOf tells it by the error.
func OutcomeOf(err error) Outcome {
	var f *Error
	switch {
	case err == nil:
		return OK
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return Left
	case errors.As(err, &f):
		switch f.Code {
		case Internal, BadGateway, NoSpace:
			return Failed
		default:
			return Refused
		}
	default:
		return Failed
	}
}
