package server

import (
	"bytes"
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"time"

	"paddock/internal/fault"
	"paddock/internal/server/gen"
	"paddock/internal/store"
)

// statuses is the one place that maps faults to HTTP.
var statuses = map[fault.Code]int{
	fault.BadRequest:           http.StatusBadRequest,
	fault.Unauthorized:         http.StatusUnauthorized,
	fault.PaymentRequired:      http.StatusPaymentRequired,
	fault.Forbidden:            http.StatusForbidden,
	fault.NotFound:             http.StatusNotFound,
	fault.MethodNotAllowed:     http.StatusMethodNotAllowed,
	fault.Conflict:             http.StatusConflict,
	fault.TooLarge:             http.StatusRequestEntityTooLarge,
	fault.UnsupportedMediaType: http.StatusUnsupportedMediaType,
	fault.Unprocessable:        http.StatusUnprocessableEntity,
	fault.TooManyRequests:      http.StatusTooManyRequests,
	fault.Internal:             http.StatusInternalServerError,
	fault.NotSupported:         http.StatusNotImplemented,
	fault.BadGateway:           http.StatusBadGateway,
	fault.Unavailable:          http.StatusServiceUnavailable,
	fault.NoSpace:              http.StatusInsufficientStorage,
}

// writeFault writes an error in both shapes that public clients read.
func writeFault(w http.ResponseWriter, f *fault.Error) {
	status, ok := statuses[f.Code]
	if !ok {
		status = http.StatusInternalServerError
	}
	switch f.Code {
	case fault.Unavailable, fault.TooManyRequests:
		w.Header().Set("Retry-After", retryAfter(f.RetryAfter))
	case fault.Unauthorized:
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	writeError(w, status, f)
}

// writeError writes a fault under a status of its own, where HTTP has a finer
// one than the fault's code.
func writeError(w http.ResponseWriter, status int, f *fault.Error) {
	writeJSON(w, status, gen.ErrorBody{
		ID: string(f.Code), Message: f.Message, RequestID: w.Header().Get(requestIDHeader),
		Error: gen.ErrorDetail{Code: status, Message: f.Message},
	})
}

// retryAfter is the header's whole seconds, at least one.
func retryAfter(d time.Duration) string {
	return strconv.Itoa(max(1, int(math.Ceil(d.Seconds()))))
}

// writeJSON writes an answer.
func writeJSON(w http.ResponseWriter, status int, body any) {
	writeAnswer(w, jsonAnswer(status, body))
}

// jsonAnswer encodes an answer.
func jsonAnswer(status int, body any) store.Answer {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(body); err != nil {
		panic(err) // a type of ours that has no JSON
	}
	return store.Answer{Status: status, Header: map[string]string{"Content-Type": "application/json"}, Body: text.Bytes()}
}

// writeAnswer writes a whole answer. A failure to write is the reader's: it left.
func writeAnswer(w http.ResponseWriter, answer store.Answer) {
	for name, value := range answer.Header {
		w.Header().Set(name, value)
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(answer.Body)))
	control := http.NewResponseController(w)
	_ = control.SetWriteDeadline(time.Now().Add(patienceOf(w)))
	w.WriteHeader(answer.Status)
	_, _ = w.Write(answer.Body)
	_ = control.Flush()
	_ = control.SetWriteDeadline(time.Time{}) // the connection may serve other calls
}
