package server

import (
	"context"
	"net"
	"net/http"
	"time"

	"paddock/internal/fault"
)

// Limits of requests, in bytes.
const (
	maxHeader = 64 << 10 // request line and header fields
	maxSpec   = 1 << 20
	maxBody   = 1 << 20 // where nothing else is said
	maxInput  = 8 << 20 // text and native frame
	maxExec   = 8 << 20 // standard input included, in base64
)

// bounded refuses a request whose header is too large, and gives its body a time
// by which it has to be there, whether anybody reads it or not: net/http reads
// on to its end after the answer, and would do so for ever. What has no body may
// take its time.
func (e *edge) bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var until time.Time
		if r.Body != http.NoBody {
			until = time.Now().Add(e.options.BodyTimeout)
		}
		_ = http.NewResponseController(w).SetReadDeadline(until)
		if headerSize(r) > maxHeader {
			w.Header().Set("Connection", "close")
			writeError(w, http.StatusRequestHeaderFieldsTooLarge,
				fault.New(fault.TooLarge, "the request line and header fields are larger than %d KiB; send less", maxHeader>>10))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// headerSize is how many bytes the request line and the header fields had, about.
func headerSize(r *http.Request) int {
	size := len(r.RequestURI) + len(r.Host)
	for name, values := range r.Header {
		for _, value := range values {
			size += len(name) + len(value) + 4
		}
	}
	return size
}

// HTTP wraps a handler into a server with the edge's limits, to be served on a
// Listen. Its Shutdown ends event streams at once; other calls are waited for.
// There is no limit on how long an answer takes: streams and execs are long, and
// streams limit each write by themselves.
func HTTP(handler http.Handler) *http.Server {
	stopping, stop := context.WithCancel(context.Background())
	server := &http.Server{
		Handler:           handling(handler),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       time.Minute, // until bounded knows better
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    4 * maxHeader, // past this not even an answer of ours is given

		DisableGeneralOptionsHandler: true, // it answers OPTIONS * without an id
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			return context.WithValue(ctx, connectionKey{}, conn)
		},
		ConnState: func(conn net.Conn, state http.ConnState) {
			if c, ok := conn.(*connection); ok && state == http.StateIdle {
				c.set(false)
			}
		},
		BaseContext: func(net.Listener) context.Context {
			return context.WithValue(context.Background(), stoppingKey{}, stopping)
		},
	}
	server.RegisterOnShutdown(stop)
	return server
}

type stoppingKey struct{}

type connectionKey struct{}

// handling marks the connection of each call as a handler's.
func handling(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(connectionKey{}).(*connection); ok {
			c.set(true)
		}
		next.ServeHTTP(w, r)
	})
}

// untilStop is the call's context, ended also when the server begins to stop.
func untilStop(r *http.Request) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(r.Context())
	if stopping, ok := r.Context().Value(stoppingKey{}).(context.Context); ok {
		unhook := context.AfterFunc(stopping, cancel)
		return ctx, func() { unhook(); cancel() }
	}
	return ctx, cancel
}
