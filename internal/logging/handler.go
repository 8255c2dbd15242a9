package logging

import (
	"context"
	"log/slog"
)

// The names of what is added to a line.
const (
	requestKey = "request_id"
	sessionKey = "session_id"
)

// handler adds to each line which call and session its context belongs to,
// where the line does not say so itself.
type handler struct {
	slog.Handler
	said map[string]bool // by attributes that all its lines have
}

// NewHandler makes a handler of one that writes.
func NewHandler(next slog.Handler) slog.Handler { return handler{next, nil} }

// Handle is part of slog.Handler.
func (h handler) Handle(ctx context.Context, r slog.Record) error {
	request, session := RequestID(ctx), SessionID(ctx)
	if h.said[requestKey] {
		request = ""
	}
	if h.said[sessionKey] {
		session = ""
	}
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case requestKey:
			request = ""
		case sessionKey:
			session = ""
		}
		return true
	})
	if request != "" || session != "" {
		r = r.Clone()
	}
	if request != "" {
		r.AddAttrs(slog.String(requestKey, request))
	}
	if session != "" {
		r.AddAttrs(slog.String(sessionKey, session))
	}
	return h.Handler.Handle(ctx, r)
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
