package logging

import (
	"bytes"
	"context"
	"log/slog"
	"testing"

	"go.opentelemetry.io/otel/trace"
)

func TestLinesNameTheirCall(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(NewHandler(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == slog.LevelKey {
			return slog.Attr{}
		}
		return a
	}})))
	ctx := WithRequest(t.Context(), "req_1")
	life, end := context.WithCancel(context.Background())
	carried := Carry(life, ctx)
	end()
	log.Info("nobody's")
	log.InfoContext(ctx, "early")
	NoteSession(ctx, "sess_1")
	NoteSession(t.Context(), "of no call")
	log.InfoContext(ctx, "known", "n", 1)
	log.InfoContext(carried, "carried")
	log.InfoContext(ctx, "says so", "session_id", "sess_2", "request_id", "req_2")
	log.With("session_id", "sess_3").With("n", 2).InfoContext(ctx, "with")
	log.InfoContext(Carry(t.Context(), t.Context()), "no call")
	at := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{15: 1}, SpanID: trace.SpanID{7: 2}})
	log.InfoContext(Carry(t.Context(), trace.ContextWithSpanContext(ctx, at)), "traced")
	want := `msg=nobody's
msg=early request_id=req_1
msg=known n=1 request_id=req_1 session_id=sess_1
msg=carried request_id=req_1 session_id=sess_1
msg="says so" session_id=sess_2 request_id=req_2
msg=with session_id=sess_3 n=2 request_id=req_1
msg="no call"
msg=traced request_id=req_1 session_id=sess_1 trace_id=00000000000000000000000000000001
`
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
	if carried.Err() == nil || ctx.Err() != nil {
		t.Error("what is carried does not end with its life")
	}
}
