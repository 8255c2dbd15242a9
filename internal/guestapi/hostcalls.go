package guestapi

import (
	"context"
	"net/http"

	"paddock/internal/fault"
)

const pathReport = "/v1/report"

// hostClient implements Host by calls to the other side.
type hostClient struct{ p *peer }

func (c *hostClient) Report(ctx context.Context, batch Batch) (Ack, error) {
	var ack Ack
	err := call(ctx, c.p, pathReport, MaxBatch, batch, &ack)
	return ack, err
}

// hostRoutes serves a Host to a guest. Batches come one at a time: a guest that
// sends many at once waits, it does not fill the host's memory.
func hostRoutes(h Host) http.Handler {
	turn := make(chan struct{}, 1)
	report := handle(MaxBatch, false, func(ctx context.Context, batch Batch) (Ack, error) {
		if err := batch.Validate(); err != nil {
			return Ack{}, err
		}
		return h.Report(ctx, batch)
	})
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+pathReport, func(w http.ResponseWriter, r *http.Request) {
		select {
		case turn <- struct{}{}:
			defer func() { <-turn }()
			report(w, r)
		case <-r.Context().Done():
			writeFault(w, fault.Wrap(context.Cause(r.Context()), fault.Unavailable, "the connection is gone"), false)
		}
	})
	return mux
}
