package client

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"time"
)

// repeats is how often a call whose answer was lost is repeated; with the
// backoff's 100 ms it is given up after some 6 s.
const repeats = 6

// doOnce performs a call that makes something. The call has a name of its own,
// so when its answer is lost (a cut connection, a server that restarts) it is
// repeated and the thing is made once.
func doOnce[T any](ctx context.Context, c *Client, what call) (T, error) {
	headers := map[string]string{"Idempotency-Key": rand.Text()}
	for name, value := range what.headers {
		headers[name] = value
	}
	what.headers = headers
	backoff := c.options.Backoff
	for left := repeats; ; left-- {
		answer, err := do[T](ctx, c, what)
		if err == nil || left == 0 || !answerLost(err, left < repeats) {
			return answer, err
		}
		select {
		case <-time.After(backoff):
		case <-ctx.Done():
			return answer, err
		}
		backoff = min(2*backoff, c.options.MaxBackoff)
	}
}

// answerLost says whether a call may have been done without our learning of it.
// A server that is not there has done nothing, unless it was there before.
func answerLost(err error, wasThere bool) bool {
	var refused *Error
	var network *net.OpError
	switch {
	case errors.As(err, &refused), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return false
	case errors.As(err, &network) && network.Op == "dial":
		return wasThere
	}
	return true
}
