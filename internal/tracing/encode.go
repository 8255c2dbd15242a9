package tracing

import (
	"fmt"
	"math"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/encoding/protowire"
)

// Spans are written in the wire form of opentelemetry.proto.trace.v1 by hand. The
// generated types would bring their descriptors and gRPC's with them, which each
// process of each sandbox, being this program, would register at its start.

// encode writes an ExportTraceServiceRequest.
func encode(spans []sdktrace.ReadOnlySpan) []byte {
	if len(spans) == 0 {
		return nil
	}
	scopes := map[instrumentation.Scope][]byte{}
	for _, s := range spans { // all are of one server, and so of one resource
		scopes[s.InstrumentationScope()] = message(scopes[s.InstrumentationScope()], 2, span(s))
	}
	resource := message(nil, 1, attributes(nil, 1, spans[0].Resource().Attributes()))
	for scope, list := range scopes {
		about := text(text(nil, 1, scope.Name), 2, scope.Version)
		resource = message(resource, 2, append(message(nil, 1, about), list...))
	}
	return message(nil, 1, resource)
}

// The flags of a span beyond those of the W3C: whether it is known that its
// parent was made elsewhere, and whether it was.
const (
	flagRemoteKnown = 1 << 8
	flagRemote      = 1 << 9
)

func span(s sdktrace.ReadOnlySpan) []byte {
	at, parent := s.SpanContext(), s.Parent()
	tid, sid := at.TraceID(), at.SpanID()
	b := message(message(nil, 1, tid[:]), 2, sid[:])
	b = text(b, 3, at.TraceState().String())
	flags := uint32(at.TraceFlags()) | flagRemoteKnown
	if parent.SpanID().IsValid() {
		above := parent.SpanID()
		b = message(b, 4, above[:])
		if parent.IsRemote() {
			flags |= flagRemote
		}
	}
	b = text(b, 5, s.Name())
	b = number(b, 6, kind(s.SpanKind()))
	b = moment(moment(b, 7, s.StartTime()), 8, s.EndTime())
	b = attributes(b, 9, s.Attributes())
	b = number(b, 10, uint64(s.DroppedAttributes()))
	if s.Status().Code == codes.Error {
		b = message(b, 15, number(nil, 3, 2))
	}
	b = protowire.AppendTag(b, 16, protowire.Fixed32Type)
	return protowire.AppendFixed32(b, flags)
}

// kind gives the wire's number: ours are internal ones and those of a server.
func kind(k trace.SpanKind) uint64 {
	if k == trace.SpanKindServer {
		return 2
	}
	return 1
}

func attributes(b []byte, field protowire.Number, list []attribute.KeyValue) []byte {
	for _, kv := range list {
		b = message(b, field, message(text(nil, 1, string(kv.Key)), 2, value(kv.Value)))
	}
	return b
}

// value writes an AnyValue. Lists are shown as text: none of ours is one, and one
// from outside is a matter of the resource.
func value(v attribute.Value) []byte {
	switch v.Type() {
	case attribute.BOOL:
		b := protowire.AppendTag(nil, 2, protowire.VarintType)
		return protowire.AppendVarint(b, protowire.EncodeBool(v.AsBool()))
	case attribute.INT64:
		b := protowire.AppendTag(nil, 3, protowire.VarintType)
		return protowire.AppendVarint(b, uint64(v.AsInt64()))
	case attribute.FLOAT64:
		b := protowire.AppendTag(nil, 4, protowire.Fixed64Type)
		return protowire.AppendFixed64(b, math.Float64bits(v.AsFloat64()))
	case attribute.STRING:
		b := protowire.AppendTag(nil, 1, protowire.BytesType)
		return protowire.AppendString(b, strings.ToValidUTF8(v.AsString(), "\uFFFD"))
	default:
		b := protowire.AppendTag(nil, 1, protowire.BytesType)
		return protowire.AppendString(b, strings.ToValidUTF8(fmt.Sprint(v.AsInterface()), "\uFFFD"))
	}
}

func message(b []byte, field protowire.Number, inner []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), inner)
}

// text and number leave out what is empty, as the wire form does.
func text(b []byte, field protowire.Number, s string) []byte {
	if s == "" {
		return b
	}
	return message(b, field, []byte(strings.ToValidUTF8(s, "\uFFFD")))
}

func number(b []byte, field protowire.Number, n uint64) []byte {
	if n == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), n)
}

func moment(b []byte, field protowire.Number, t time.Time) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(b, field, protowire.Fixed64Type), uint64(t.UnixNano()))
}
