package tracing

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"paddock/internal/logging"
)

// Call is the span of a call over HTTP. A nil Call takes everything.
type Call struct {
	ctx    context.Context
	span   trace.Span
	method string
}

// Serve begins the span of a call that came in, below the caller's own where its
// headers name one (W3C trace context).
func (t *Tracer) Serve(ctx context.Context, r *http.Request) (context.Context, *Call) {
	if t == nil {
		return ctx, nil
	}
	method := r.Method
	if !known[method] {
		method = "HTTP"
	}
	ctx = propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(r.Header))
	ctx, span := t.tracer.Start(ctx, method, trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(
		attribute.String("http.request.method", method), attribute.String("paddock.request.id", logging.RequestID(ctx))))
	return ctx, &Call{ctx, span, method}
}

// known are the methods that are said; there is no end of others.
var known = map[string]bool{
	http.MethodGet: true, http.MethodHead: true, http.MethodPost: true, http.MethodPut: true, http.MethodPatch: true,
	http.MethodDelete: true, http.MethodOptions: true,
}

// End ends the span: route is the pattern that served the call, and status that
// of its answer, 0 when there was none.
func (c *Call) End(route string, status int) {
	if c == nil {
		return
	}
	c.span.SetName(c.method + " " + route)
	c.span.SetAttributes(attribute.String("http.route", route))
	if status != 0 {
		c.span.SetAttributes(attribute.Int("http.response.status_code", status))
	}
	if id := logging.SessionID(c.ctx); id != "" {
		c.span.SetAttributes(Session(id))
	}
	if status >= http.StatusInternalServerError {
		c.span.SetStatus(codes.Error, "")
	}
	c.span.End()
}
