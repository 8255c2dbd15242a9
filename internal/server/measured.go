package server

import (
	"context"
	"io"
	"time"

	"paddock/internal/engine"
	"paddock/internal/guestapi"
	"paddock/internal/id"
	"paddock/internal/metrics"
	"paddock/internal/tracing"
)

// measured is a surface whose calls on sessions are measured and traced. What the engine
// does by itself as well (to start, to pause, to resume, to remove) it measures
// itself.
type measured struct {
	surface
	metrics *metrics.Metrics
	trace   *tracing.Tracer
}

// verb measures a call from now until the function returned is called; in the
// context returned is its span.
func (m measured) verb(ctx context.Context, v metrics.Verb) (context.Context, func(err *error)) {
	begin := time.Now()
	ctx, span := m.trace.Start(ctx, string(v))
	return ctx, func(err *error) {
		m.metrics.Verb(v, time.Since(begin), *err)
		span.End(*err)
	}
}

func (m measured) Input(ctx context.Context, team id.Team, ref string, in engine.Input) (run id.Run, err error) {
	ctx, done := m.verb(ctx, metrics.Input)
	defer done(&err)
	return m.surface.Input(ctx, team, ref, in)
}

func (m measured) Cancel(ctx context.Context, team id.Team, ref, run, actor string) (result engine.CancelResult, err error) {
	ctx, done := m.verb(ctx, metrics.Cancel)
	defer done(&err)
	return m.surface.Cancel(ctx, team, ref, run, actor)
}

func (m measured) Answer(ctx context.Context, team id.Team, ref, hitl string, answer engine.Answer) (err error) {
	ctx, done := m.verb(ctx, metrics.Answer)
	defer done(&err)
	return m.surface.Answer(ctx, team, ref, hitl, answer)
}

func (m measured) Exec(ctx context.Context, team id.Team, ref string, req engine.ExecRequest) (result engine.ExecResult, err error) {
	ctx, done := m.verb(ctx, metrics.Exec)
	defer done(&err)
	return m.surface.Exec(ctx, team, ref, req)
}

func (m measured) ListFiles(ctx context.Context, team id.Team, ref, path string) (files []guestapi.File, err error) {
	ctx, done := m.verb(ctx, metrics.List)
	defer done(&err)
	return m.surface.ListFiles(ctx, team, ref, path)
}

func (m measured) ReadFile(ctx context.Context, team id.Team, ref, path string, offset, length int64) (file guestapi.File, body io.ReadCloser, err error) {
	ctx, done := m.verb(ctx, metrics.Read)
	defer done(&err)
	return m.surface.ReadFile(ctx, team, ref, path, offset, length)
}
