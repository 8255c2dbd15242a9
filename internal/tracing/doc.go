// Package tracing tells an OpenTelemetry collector what a server does, as spans.
// It is off unless it was configured. What a span says comes from a closed set:
// names of verbs and routes, ids and outcomes; never what people or agents say.
// A nil *Tracer makes no spans, and a collector that is slow or gone costs
// spans, never time.
package tracing
