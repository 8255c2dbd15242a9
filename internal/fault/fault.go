package fault

import (
	"errors"
	"fmt"
	"time"
)

// Code is the class of a fault, in the words of the wire (error id).
type Code string

// The closed set of codes.
const (
	BadRequest           Code = "bad_request"
	Unauthorized         Code = "unauthorized"
	PaymentRequired      Code = "payment_required"
	Forbidden            Code = "forbidden"
	NotFound             Code = "not_found"
	MethodNotAllowed     Code = "method_not_allowed"
	Conflict             Code = "conflict"
	TooLarge             Code = "too_large"
	UnsupportedMediaType Code = "unsupported_media_type"
	Unprocessable        Code = "unprocessable"
	TooManyRequests      Code = "too_many_requests"
	Internal             Code = "internal"
	NotSupported         Code = "not_supported"
	BadGateway           Code = "bad_gateway"
	Unavailable          Code = "unavailable"
	NoSpace              Code = "no_space"
)

// Error is a fault: Message is for people, Cause for the log.
type Error struct {
	Code       Code
	Message    string
	Cause      error         // may be nil; never shown to callers
	RetryAfter time.Duration // only with Unavailable and TooManyRequests
}

// Error gives the public sentence, and the cause behind it where there is one.
func (e *Error) Error() string {
	if e.Cause == nil {
		return e.Message
	}
	return e.Message + ": " + e.Cause.Error()
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Cause }

// New makes a fault with a public sentence.
func New(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Wrap makes a fault with a public sentence and the cause for the log.
func Wrap(cause error, code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), Cause: cause}
}

// Of gives the fault in err's chain; any other error becomes Internal with a
// sentence that reveals nothing.
func Of(err error) *Error {
	var f *Error
	if errors.As(err, &f) {
		return f
	}
	return Wrap(err, Internal, "something went wrong on our side; the server's log has the details")
}

// Is says whether err is a fault with this code.
func Is(err error, code Code) bool {
	var f *Error
	return errors.As(err, &f) && f.Code == code
}
