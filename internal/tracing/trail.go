package tracing

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Trail is the place of a span that is made when it is over, as text that can be
// stored: whichever server sees the end tells of the whole. Empty is none.
//
// Its form is <trace id>-<span id>-<parent's span id>-<flags>, in hex.
type Trail string

// Lay makes the trail of a span below that of ctx.
func (t *Tracer) Lay(ctx context.Context) Trail {
	at := trace.SpanContextFromContext(ctx)
	if t == nil || !at.IsValid() {
		return ""
	}
	return Trail(fmt.Sprintf("%s-%s-%s-%s", at.TraceID(), newSpanID(), at.SpanID(), at.TraceFlags()))
}

// read gives the span's own context and its parent's; false for one that is none.
func (l Trail) read() (own, parent trace.SpanContext, ok bool) {
	var tid trace.TraceID
	var self, above trace.SpanID
	var flags [1]byte
	const sizes = 32 + 1 + 16 + 1 + 16 + 1 + 2
	if len(l) != sizes {
		return own, parent, false
	}
	for _, f := range []struct {
		from, to int
		into     []byte
	}{{0, 32, tid[:]}, {33, 49, self[:]}, {50, 66, above[:]}, {67, 69, flags[:]}} {
		if _, err := hex.Decode(f.into, []byte(l[f.from:f.to])); err != nil {
			return own, parent, false
		}
	}
	at := trace.SpanContextConfig{TraceID: tid, SpanID: self, TraceFlags: trace.TraceFlags(flags[0]), Remote: true}
	own = trace.NewSpanContext(at)
	at.SpanID = above
	return own, trace.NewSpanContext(at), own.IsValid()
}

// Record makes the span of a trail, from begin to end; failed marks it as an
// error.
func (t *Tracer) Record(l Trail, name string, begin, end time.Time, failed bool, attrs ...Attr) {
	own, parent, ok := l.read()
	if t == nil || !ok {
		return
	}
	ctx := context.WithValue(trace.ContextWithRemoteSpanContext(context.Background(), parent), idKey{}, own.SpanID())
	t.record(ctx, name, begin, end, failed, attrs)
}

// RecordBelow makes a span below that of a trail.
func (t *Tracer) RecordBelow(l Trail, name string, begin, end time.Time, failed bool, attrs ...Attr) {
	own, _, ok := l.read()
	if t == nil || !ok {
		return
	}
	t.record(trace.ContextWithRemoteSpanContext(context.Background(), own), name, begin, end, failed, attrs)
}

func (t *Tracer) record(ctx context.Context, name string, begin, end time.Time, failed bool, attrs []Attr) {
	_, span := t.tracer.Start(ctx, name, trace.WithTimestamp(begin), trace.WithAttributes(attrs...))
	if failed {
		span.SetStatus(codes.Error, "")
	}
	span.End(trace.WithTimestamp(end))
}

type idKey struct{}

// generator makes ids of spans, random but for those that a trail has made.
type generator struct{}

// NewIDs is part of sdktrace.IDGenerator.
func (generator) NewIDs(context.Context) (tid trace.TraceID, _ trace.SpanID) {
	for !tid.IsValid() {
		fill(tid[:8])
		fill(tid[8:])
	}
	return tid, newSpanID()
}

// NewSpanID is part of sdktrace.IDGenerator.
func (generator) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	if id, ok := ctx.Value(idKey{}).(trace.SpanID); ok {
		return id
	}
	return newSpanID()
}

func newSpanID() (id trace.SpanID) {
	for !id.IsValid() {
		fill(id[:])
	}
	return id
}

// fill makes eight bytes at random; nobody has to be unable to guess them.
func fill(b []byte) { binary.BigEndian.PutUint64(b, rand.Uint64()) }
