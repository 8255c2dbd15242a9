package tracing

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

const (
	sendTries   = 3               // of one batch
	sendAgain   = time.Second     // until the second; doubled each time
	mostPatient = 5 * time.Second // that a collector may ask us to wait
)

// sender posts spans to a collector (OTLP over HTTP, as protobuf). It is called
// for one batch after the other, by a goroutine of the SDK's, behind a queue that
// drops what it has no room for.
type sender struct {
	config     Config
	client     *http.Client
	complaints *seldom
	lost       atomic.Int64 // spans since the last complaint

	ctx      context.Context // ends when nothing is to be sent any more
	cancel   context.CancelFunc
	stopping chan struct{} // closed once nobody waits for another try
}

func newSender(c Config, log *slog.Logger) (*sender, error) {
	transport, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return nil, fmt.Errorf("no HTTP transport to send spans by")
	}
	s := &sender{config: c, complaints: &seldom{log: log}, stopping: make(chan struct{})}
	s.client = &http.Client{
		Transport: transport.Clone(), Timeout: c.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s, nil
}

// ExportSpans is part of sdktrace.SpanExporter. What cannot be sent is counted
// and complained of, and is no error.
func (s *sender) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	body, err := s.pack(encode(spans))
	if err == nil {
		err = s.send(ctx, body)
	}
	if err != nil {
		lost := s.lost.Add(int64(len(spans)))
		if s.complaints.warn("send spans", "url", s.config.Shown(), "lost", lost, "error", err) {
			s.lost.Add(-lost)
		}
	}
	return nil
}

func (s *sender) pack(body []byte) ([]byte, error) {
	if !s.config.Gzip {
		return body, nil
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(body); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// send posts a batch, again where the collector may take it later.
func (s *sender) send(ctx context.Context, body []byte) error {
	for try, wait := 1, sendAgain; ; try, wait = try+1, 2*wait {
		later, err := s.post(ctx, body)
		if err == nil || later < 0 || try == sendTries || ctx.Err() != nil {
			return err
		}
		select {
		case <-time.After(min(max(wait, later), mostPatient)):
		case <-s.stopping:
			return err
		case <-ctx.Done():
			return err
		}
	}
}

// post does it once. With an error comes how long the collector wants to be left
// alone before it is tried again; less than 0 means for ever.
func (s *sender) post(ctx context.Context, body []byte) (later time.Duration, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.config.URL, bytes.NewReader(body))
	if err != nil {
		return -1, err
	}
	for name, values := range s.config.Headers {
		r.Header[name] = values
	}
	r.Header.Set("Content-Type", "application/x-protobuf")
	r.Header.Set("User-Agent", "paddock")
	if s.config.Gzip {
		r.Header.Set("Content-Encoding", "gzip")
	}
	answer, err := s.client.Do(r)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 64<<10)) // so that the connection is used again
	switch code := answer.StatusCode; code {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		seconds, _ := strconv.Atoi(answer.Header.Get("Retry-After"))
		return time.Duration(max(seconds, 0)) * time.Second, fmt.Errorf("the collector answers %s", answer.Status)
	default:
		if code < 200 || code > 299 {
			return -1, fmt.Errorf("the collector answers %s", answer.Status)
		}
	}
	return 0, nil
}

// Shutdown is part of sdktrace.SpanExporter.
func (s *sender) Shutdown(context.Context) error {
	s.client.CloseIdleConnections()
	return nil
}
