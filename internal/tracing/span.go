package tracing

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"paddock/internal/fault"
	"paddock/internal/logging"
)

// Attr is one thing that a span says.
type Attr = attribute.KeyValue

// Session names the session that a span is about.
func Session(id string) Attr { return attribute.String("paddock.session.id", id) }

// Sandbox names a session's sandbox.
func Sandbox(id string) Attr { return attribute.String("paddock.sandbox.id", id) }

// Run names a run.
func Run(id string) Attr { return attribute.String("paddock.run.id", id) }

// Approval names what waited for a person.
func Approval(id string) Attr { return attribute.String("paddock.approval.id", id) }

// Agent is the kind of agent.
func Agent(name string) Attr { return attribute.String("paddock.agent", name) }

// Reason is why something was done, in a word of a closed set.
func Reason(word string) Attr { return attribute.String("paddock.reason", word) }

// Outcome is what came of it, in a word of a closed set.
func Outcome(word string) Attr { return attribute.String("paddock.outcome", word) }

// Problem is the class of what went wrong.
func Problem(class string) Attr { return attribute.String("error.type", class) }

// QueueSeconds is how long a run waited for its turn.
func QueueSeconds(s float64) Attr { return attribute.Float64("paddock.run.queue_seconds", s) }

// Bytes is how much was written.
func Bytes(n int64) Attr { return attribute.Int64("paddock.bytes", n) }

// Span is something under way. A nil Span takes everything.
type Span struct {
	ctx  context.Context
	span trace.Span
}

// Start begins a span below that of ctx; what is done in the context returned is
// below it. It has to be ended.
func (t *Tracer) Start(ctx context.Context, name string, attrs ...Attr) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	ctx, span := t.tracer.Start(ctx, name, trace.WithAttributes(attrs...))
	return ctx, &Span{ctx, span}
}

// Note adds what turned out on the way.
func (s *Span) Note(attrs ...Attr) {
	if s != nil {
		s.span.SetAttributes(attrs...)
	}
}

// End ends the span, which says by err what came of it and, where that is known,
// which session its call is about. The sentence of an error stays in the log: it
// may quote a caller.
func (s *Span) End(err error) {
	if s == nil {
		return
	}
	if id := logging.SessionID(s.ctx); id != "" {
		s.span.SetAttributes(Session(id))
	}
	outcome := fault.OutcomeOf(err)
	s.span.SetAttributes(Outcome(string(outcome)))
	if err != nil {
		s.span.SetAttributes(Problem(string(fault.Of(err).Code)))
	}
	if outcome == fault.Failed {
		s.span.SetStatus(codes.Error, "")
	}
	s.span.End()
}
