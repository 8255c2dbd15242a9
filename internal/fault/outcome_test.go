package fault

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

func TestOutcomes(t *testing.T) {
	for _, c := range []struct {
		err  error
		want Outcome
	}{
		{nil, OK},
		{New(Conflict, "x"), Refused},
		{fmt.Errorf("a: %w", New(NotFound, "x")), Refused},
		{New(BadGateway, "sandbox lost"), Failed},
		{New(Internal, "x"), Failed},
		{errors.New("x"), Failed},
		{context.Canceled, Left},
		{fmt.Errorf("a: %w", context.DeadlineExceeded), Left},
	} {
		if got := OutcomeOf(c.err); got != c.want {
			t.Errorf("%v is %s, want %s", c.err, got, c.want)
		}
	}
}
