package tracing

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// flushPatience is how long a server that stops waits for its last spans to be
// taken.
const flushPatience = 2 * time.Second

// Tracer makes the spans of one server.
type Tracer struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	sender   *sender
}

// New makes the tracer that was configured, nil when none was. Samplers, limits
// and batches are the OpenTelemetry SDK's, which reads their variables itself.
func New(ctx context.Context, c Config, version string, log *slog.Logger) (*Tracer, error) {
	if c.URL == "" {
		return nil, nil
	}
	complaints := &seldom{log: log}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { complaints.warn("tracing", "error", err) }))
	about, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", "paddock"), attribute.String("service.version", version)),
		resource.WithHost(), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	s, err := newSender(c, log)
	if err != nil {
		return nil, err
	}
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(s), sdktrace.WithResource(about), sdktrace.WithIDGenerator(generator{}))
	return &Tracer{provider, provider.Tracer("paddock", trace.WithInstrumentationVersion(version)), s}, nil
}

// Stop sends what has not been sent, if that is possible soon.
func (t *Tracer) Stop() {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushPatience)
	defer cancel()
	close(t.sender.stopping)
	if err := t.provider.Shutdown(ctx); err != nil {
		t.sender.complaints.warn("the last spans were not sent", "error", err)
	}
	t.sender.cancel()
}
