package daemon

import (
	"context"

	"paddock/internal/tracing"
)

// openTracing makes the tracer that the configuration or the environment asks
// for; nil when neither does.
func openTracing(ctx context.Context, cfg Config) (*tracing.Tracer, error) {
	to, err := tracing.Configure(cfg.OTLPEndpoint)
	if err != nil {
		return nil, &MisconfiguredError{err}
	}
	for _, note := range to.Notes {
		cfg.Log.Warn(note)
	}
	t, err := tracing.New(ctx, to, cfg.Version, cfg.Log)
	if err != nil {
		return nil, &MisconfiguredError{err}
	}
	if t != nil {
		cfg.Log.Info("tracing", "url", to.Shown())
	}
	return t, nil
}
