package server

import (
	"context"
	"io"
	"time"

	"paddock/internal/engine"
	"paddock/internal/guestapi"
	"paddock/internal/id"
	"paddock/internal/metrics"
)

// measured is a surface whose calls on sessions are measured. What the engine
// does by itself as well (to start, to pause, to resume, to remove) it measures
// itself.
type measured struct {
	surface
	metrics *metrics.Metrics
}

// verb measures a call from now until the function returned is called.
func (m measured) verb(v metrics.Verb) func(err *error) {
	begin := time.Now()
	return func(err *error) { m.metrics.Verb(v, time.Since(begin), *err) }
}

func (m measured) Input(ctx context.Context, team id.Team, ref string, in engine.Input) (run id.Run, err error) {
	defer m.verb(metrics.Input)(&err)
	return m.surface.Input(ctx, team, ref, in)
}

func (m measured) Cancel(ctx context.Context, team id.Team, ref, run, actor string) (result engine.CancelResult, err error) {
	defer m.verb(metrics.Cancel)(&err)
	return m.surface.Cancel(ctx, team, ref, run, actor)
}

func (m measured) Answer(ctx context.Context, team id.Team, ref, hitl string, answer engine.Answer) (err error) {
	defer m.verb(metrics.Answer)(&err)
	return m.surface.Answer(ctx, team, ref, hitl, answer)
}

func (m measured) Exec(ctx context.Context, team id.Team, ref string, req engine.ExecRequest) (result engine.ExecResult, err error) {
	defer m.verb(metrics.Exec)(&err)
	return m.surface.Exec(ctx, team, ref, req)
}

func (m measured) ListFiles(ctx context.Context, team id.Team, ref, path string) (files []guestapi.File, err error) {
	defer m.verb(metrics.List)(&err)
	return m.surface.ListFiles(ctx, team, ref, path)
}

func (m measured) ReadFile(ctx context.Context, team id.Team, ref, path string, offset, length int64) (file guestapi.File, body io.ReadCloser, err error) {
	defer m.verb(metrics.Read)(&err)
	return m.surface.ReadFile(ctx, team, ref, path, offset, length)
}
