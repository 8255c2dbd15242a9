package server

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"path"
	"strings"
	"time"

	"paddock/internal/engine"
	"paddock/internal/fault"
	"paddock/internal/metrics"
	"paddock/internal/server/sse"
	"paddock/internal/team"
	"paddock/internal/tracing"
)

// prefixes are where the API stands; the second is the protocol's former name.
var prefixes = []string{"/v2/harness-runtime", "/v2/agents"}

// Options are what the edge is made of.
type Options struct {
	Engine    *engine.Engine
	Logger    *slog.Logger     // nil: none
	Metrics   *metrics.Metrics // what /metrics shows; nil: there is none
	Trace     *tracing.Tracer  // nil: there is none
	Version   string           // shown by /healthz
	PublicURL string           // how clients reach the server; empty: from the request
	Streams   sse.Options

	// BodyTimeout is how long a caller may take to send a body; 0: a minute.
	BodyTimeout time.Duration
	// AnswerTimeout is how long a reader may take for a whole answer, which is a
	// few MiB at most: one that reads nothing does not hold it for ever. 0: two
	// minutes. Streams and files limit each piece instead.
	AnswerTimeout time.Duration
}

// New makes the handler of all calls.
func New(options Options) http.Handler { return newHandler(production{options.Engine}, options) }

// edge holds what the handlers share.
type edge struct {
	engine  surface
	streams *sse.Streams
	log     *slog.Logger
	options Options
}

// request is a call of somebody who is known.
type request struct {
	*http.Request
	who    team.Token
	prefix string   // the one of prefixes that was used
	name   callName // what the caller calls the call
}

// handler answers a call, or returns the error to answer with. An error after
// the first byte has cut the answer.
type handler func(e *edge, w http.ResponseWriter, r request) error

func newHandler(s surface, options Options) http.Handler {
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	options.BodyTimeout = cmp.Or(options.BodyTimeout, time.Minute)
	options.AnswerTimeout = cmp.Or(options.AnswerTimeout, 2*time.Minute)
	e := &edge{engine: measured{s, options.Metrics, options.Trace}, streams: sse.New(options.Streams), log: options.Logger, options: options}
	root := http.NewServeMux()
	root.HandleFunc("GET /healthz", e.routed("/healthz", e.health))
	root.HandleFunc("GET /readyz", e.routed("/readyz", e.ready))
	root.HandleFunc("GET /openapi.yaml", e.routed("/openapi.yaml", e.openapi))
	if options.Metrics != nil {
		root.HandleFunc("GET /metrics", e.routed("/metrics", options.Metrics.Handler(options.Logger).ServeHTTP))
	}
	for _, prefix := range prefixes {
		routes := http.NewServeMux()
		for _, route := range served {
			routes.HandleFunc(route.method+" "+prefix+route.path, e.routed(route.path, e.serve(route, prefix)))
		}
		for _, route := range unserved {
			routes.HandleFunc(route.method+" "+prefix+route.path, e.routed(route.path, e.refuse(route)))
		}
		routes.HandleFunc("GET "+prefix+"/triggers/{by}/{session}", e.triggersBySession)
		strict := e.authenticated(strictRoutes(routes))
		root.Handle(prefix+"/", strict)
		root.Handle(prefix, strict) // where ServeMux would redirect
	}
	return e.observed(e.bounded(strictRoutes(root)))
}

// serve makes the handler of a route.
func (e *edge) serve(route route, prefix string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := checkQuery(r, route.query); err != nil {
			e.fail(w, r, err)
			return
		}
		call, err := named(request{Request: r, who: caller(r), prefix: prefix})
		if err == nil {
			err = route.handle(e, w, call)
		}
		if replayed := (*engine.Replayed)(nil); errors.As(err, &replayed) {
			w.Header().Set(replayedHeader, "true")
			writeAnswer(w, replayed.Answer)
		} else if err != nil {
			e.fail(w, r, err)
		}
	}
}

// errInterrupted answers a call that ended with its context: its caller has
// left, and reads nothing, or the server stops under it. To say nothing would be
// an empty 200.
var errInterrupted = fault.New(fault.Unavailable, "the server is stopping; try again in a moment")

// fail answers with an error, or, when the answer has begun, only logs it and
// cuts the connection so that nobody takes the answer for whole.
func (e *edge) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil && !fault.Is(err, fault.BadRequest) { // a body that does not come ends the context, too
		e.log.DebugContext(r.Context(), "call interrupted", "error", err)
		err = errInterrupted
	}
	f := fault.Of(err)
	if f.Code == fault.Internal {
		e.log.ErrorContext(r.Context(), "call failed", "method", r.Method, "path", r.URL.Path, "error", err)
	}
	if begun(w) {
		e.log.DebugContext(r.Context(), "answer cut", "error", err)
		panic(http.ErrAbortHandler)
	}
	writeFault(w, f)
}

// authenticated lets only callers with a good token through.
func (e *edge) authenticated(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		token = strings.TrimSpace(token)
		if !strings.EqualFold(scheme, "Bearer") || token == "" {
			e.fail(w, r, fault.New(fault.Unauthorized, "this call needs a token: send the header Authorization: Bearer <token>"))
			return
		}
		who, err := e.engine.Authenticate(r.Context(), token)
		if err != nil {
			e.fail(w, r, err)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, who)))
	})
}

type callerKey struct{}

// caller is who makes a call behind authenticated.
func caller(r *http.Request) team.Token {
	who, _ := r.Context().Value(callerKey{}).(team.Token)
	return who
}

// strictRoutes answers unknown paths and wrong methods in JSON. ServeMux would
// redirect a path with // or .. in it; the client of an API is better told.
func strictRoutes(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked := r.URL.EscapedPath(); !clean(asked) {
			writeFault(w, fault.New(fault.NotFound, "there is nothing at %.200s; did you mean %.200s?", asked, path.Clean("/"+asked)))
			return
		}
		if _, pattern := mux.Handler(r); pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		var allowed []string
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"} {
			other := *r
			other.Method = method
			if _, pattern := mux.Handler(&other); pattern != "" {
				allowed = append(allowed, method)
			}
		}
		if len(allowed) == 0 {
			writeFault(w, nothingAt(r))
			return
		}
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		writeFault(w, fault.New(fault.MethodNotAllowed, "%.200s does not take %.20s; it takes %s", r.URL.EscapedPath(), r.Method, strings.Join(allowed, ", ")))
	})
}

// clean says whether a path, as it was written, names each element once; a
// slash at its end is no matter here.
func clean(asked string) bool {
	return asked == path.Clean(asked) || asked == path.Clean(asked)+"/"
}

// nothingAt refuses a path that is unknown.
func nothingAt(r *http.Request) *fault.Error {
	return fault.New(fault.NotFound, "there is nothing at %.200s; see /openapi.yaml", r.URL.EscapedPath())
}
