package server

import (
	"errors"
	"net/http"
	"regexp"
	"runtime/debug"
	"sync"
	"time"

	"paddock/internal/fault"
	"paddock/internal/logging"
	"paddock/internal/metrics"
	"paddock/internal/tracing"
)

const requestIDHeader = "X-Request-Id"

// saneID is what a client may name its call.
// (Compiled where it is needed: it costs 2 ms, and every process of every
// sandbox is this program, too.)
var saneID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`) })

// probes are asked every few seconds by machines, and not traced.
var probes = map[string]bool{"/healthz": true, "/readyz": true, "/metrics": true}

// observed names each call, traces and logs it, and survives a handler's panic.
func (e *edge) observed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := r.Header.Get(requestIDHeader)
		if !saneID().MatchString(name) {
			name = newRequestID()
		}
		w.Header().Set(requestIDHeader, name)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		seen := &observedWriter{ResponseWriter: w, patience: e.options.AnswerTimeout, route: metrics.OtherRoute}
		ctx := logging.WithRequest(r.Context(), name)
		var span *tracing.Call
		if !probes[r.URL.Path] {
			ctx, span = e.options.Trace.Serve(ctx, r)
		}
		r = r.WithContext(ctx)
		begin := time.Now()
		defer func() {
			span.End(seen.route, seen.status)
			e.options.Metrics.Call(r.Method, seen.route, seen.status, seen.answered(begin))
			e.log.DebugContext(r.Context(), "call", "method", r.Method, "path", r.URL.Path, "status", seen.status, "duration", time.Since(begin))
		}()
		defer func() {
			problem := recover()
			if problem == nil {
				return
			}
			if err, ok := problem.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(problem)
			}
			e.log.ErrorContext(r.Context(), "handler panicked", "method", r.Method, "path", r.URL.Path, "panic", problem, "stack", string(debug.Stack()))
			if seen.status != 0 {
				panic(http.ErrAbortHandler)
			}
			writeFault(seen, fault.Of(errors.New("panic")))
		}()
		next.ServeHTTP(seen, r)
	})
}

// observedWriter notes the status of an answer.
type observedWriter struct {
	http.ResponseWriter
	status   int           // 0 until the answer begins
	begun    time.Time     // when it did
	route    string        // the pattern that serves the call
	patience time.Duration // how long its reader may take for a whole answer
}

// routed notes which route serves a call, and that it is under way.
func (e *edge) routed(route string, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if seen, ok := w.(*observedWriter); ok {
			seen.route = route
		}
		defer e.options.Metrics.Begin(route)()
		next(w, r)
	}
}

// answered says how long after begin the answer began; of a call that had none,
// how long ago that is.
func (w *observedWriter) answered(begin time.Time) time.Duration {
	if w.begun.IsZero() {
		return time.Since(begin)
	}
	return w.begun.Sub(begin)
}

// note notes the status with which the answer begins.
func (w *observedWriter) note(status int) {
	if w.status == 0 {
		w.status, w.begun = status, time.Now()
	}
}

// WriteHeader notes the status.
func (w *observedWriter) WriteHeader(status int) {
	w.note(status)
	w.ResponseWriter.WriteHeader(status)
}

// Write begins the answer with 200 when nothing else did.
func (w *observedWriter) Write(b []byte) (int, error) {
	w.note(http.StatusOK)
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *observedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// patienceOf is how long the reader of an answer may take for it.
func patienceOf(w http.ResponseWriter) time.Duration {
	if seen, ok := w.(*observedWriter); ok {
		return seen.patience
	}
	return time.Minute
}

// begun says whether the answer has begun.
func begun(w http.ResponseWriter) bool {
	seen, ok := w.(*observedWriter)
	return ok && seen.status != 0
}
