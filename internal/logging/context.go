package logging

import (
	"context"
	"sync/atomic"

	"go.opentelemetry.io/otel/trace"
)

// call is what is known of a call that somebody made. Which session it is about
// turns out while it is handled: callers name sessions in more ways than one.
type call struct {
	request string
	session atomic.Pointer[string]
}

type callKey struct{}

func of(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

// WithRequest begins a call of this id.
func WithRequest(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, callKey{}, &call{request: id})
}

// NoteSession notes that the call of a context, if there is one, is about this
// session.
func NoteSession(ctx context.Context, id string) {
	if c := of(ctx); c != nil {
		c.session.Store(&id)
	}
}

// Carry gives a context that ends with life and belongs to the call and the trace
// of from, for work that a call has begun and that may outlive it.
func Carry(life, from context.Context) context.Context {
	if span := trace.SpanFromContext(from); span.SpanContext().IsValid() {
		life = trace.ContextWithSpan(life, span)
	}
	if c := of(from); c != nil {
		return context.WithValue(life, callKey{}, c)
	}
	return life
}

// RequestID is the id of the call that a context belongs to; empty for none.
func RequestID(ctx context.Context) string {
	if c := of(ctx); c != nil {
		return c.request
	}
	return ""
}

// TraceID is the id of the trace that a context belongs to; empty for none.
func TraceID(ctx context.Context) string {
	if at := trace.SpanContextFromContext(ctx); at.HasTraceID() {
		return at.TraceID().String()
	}
	return ""
}

// SessionID is the id of the session that the call is about; empty when none is
// known.
func SessionID(ctx context.Context) string {
	if c := of(ctx); c != nil {
		if id := c.session.Load(); id != nil {
			return *id
		}
	}
	return ""
}
