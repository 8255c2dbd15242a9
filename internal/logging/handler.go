package logging

import (
	"context"
	"log/slog"
)

// The names of what is added to a line.
const (
	requestKey = "request_id"
	sessionKey = "session_id"
	traceKey   = "trace_id"
)

// handler adds to each line which call, session and trace its context belongs to,
// where the line does not say so itself.
type handler struct {
	slog.Handler
	said map[string]bool // by attributes that all its lines have
}

// NewHandler makes a handler of one that writes.
func NewHandler(next slog.Handler) slog.Handler { return handler{next, nil} }

// Handle is part of slog.Handler.
func (h handler) Handle(ctx context.Context, r slog.Record) error {
	known := [...]slog.Attr{
		slog.String(requestKey, RequestID(ctx)), slog.String(sessionKey, SessionID(ctx)), slog.String(traceKey, TraceID(ctx)),
	}
	add := known[:0]
	for _, a := range known {
		if a.Value.String() != "" && !h.says(r, a.Key) {
			add = append(add, a)
		}
	}
	if len(add) > 0 {
		r = r.Clone()
		r.AddAttrs(add...)
	}
	return h.Handler.Handle(ctx, r)
}

// says whether the line has this already.
func (h handler) says(r slog.Record, key string) bool {
	said := h.said[key]
	r.Attrs(func(a slog.Attr) bool {
		said = said || a.Key == key
		return !said
	})
	return said
}

// WithAttrs is part of slog.Handler.
func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	said := map[string]bool{}
	for key := range h.said {
		said[key] = true
	}
	for _, a := range attrs {
		said[a.Key] = true
	}
	return handler{h.Handler.WithAttrs(attrs), said}
}

// WithGroup is part of slog.Handler.
func (h handler) WithGroup(name string) slog.Handler {
	return handler{h.Handler.WithGroup(name), h.said}
}
