package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"paddock/client/gen"
)

// Error is a refusal or a failure that the server reported.
type Error struct {
	Status     int           // of HTTP
	Code       string        // the kind of error: not_found, conflict, …
	Message    string        // one sentence a person can act on
	RequestID  string        // names the call in the server's log
	RetryAfter time.Duration // when to try again, if the server said so
}

// Error gives the server's sentence.
func (e *Error) Error() string { return e.Message }

// IsCode says whether err is an *Error with this code.
func IsCode(err error, code string) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == code
}

// errorFrom reads the error of a response that is not a success. What does not
// come from Paddock (a proxy's page) still becomes an *Error.
func errorFrom(response *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(response.Body, maxErrorBody))
	e := &Error{Status: response.StatusCode, RequestID: response.Header.Get("X-Request-Id")}
	if seconds, err := time.ParseDuration(response.Header.Get("Retry-After") + "s"); err == nil {
		e.RetryAfter = seconds
	}
	var body gen.ErrorBody
	if json.Unmarshal(text, &body) == nil && body.Message != "" {
		e.Code, e.Message = body.ID, body.Message
		return e
	}
	e.Code = "unknown"
	e.Message = fmt.Sprintf("the server answered %s, which is not an answer of Paddock; is the address right?", response.Status)
	return e
}

const maxErrorBody = 64 << 10 // bytes
