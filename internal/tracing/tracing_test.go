package tracing

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"paddock/internal/fault"
	"paddock/internal/logging"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// collector takes spans as a collector would.
type collector struct {
	*httptest.Server
	mu      sync.Mutex
	spans   map[string]*tracepb.Span
	about   map[string]string // the resource
	headers http.Header
	status  int
	posts   int
}

func newCollector(t *testing.T) *collector {
	c := &collector{spans: map[string]*tracepb.Span{}, about: map[string]string{}, status: http.StatusOK}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.posts++
	c.headers = r.Header
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		body, _ = gzip.NewReader(r.Body)
	}
	b, err := io.ReadAll(body)
	var data tracepb.TracesData // has the wire form of the request
	if err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" ||
		proto.Unmarshal(b, &data) != nil || len(data.ProtoReflect().GetUnknown()) > 0 {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	w.WriteHeader(c.status)
	if c.status != http.StatusOK {
		return
	}
	for _, rs := range data.ResourceSpans {
		for _, a := range rs.Resource.Attributes {
			c.about[a.Key] = a.Value.GetStringValue()
		}
		for _, ss := range rs.ScopeSpans {
			for _, s := range ss.Spans {
				c.spans[s.Name] = s
			}
		}
	}
}

func (c *collector) answer(status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status = status
}

func said(s *tracepb.Span, key string) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			return a.Value.GetStringValue()
		}
	}
	return ""
}

func open(t *testing.T, endpoint string, log *slog.Logger) *Tracer {
	t.Helper()
	config, err := Configure(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	tracer, err := New(t.Context(), config, "v1", log)
	if err != nil {
		t.Fatal(err)
	}
	return tracer
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func TestSpansArrive(t *testing.T) {
	for _, compression := range []string{"none", "gzip"} {
		t.Run(compression, func(t *testing.T) {
			c := newCollector(t)
			t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", compression)
			t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=a%20secret, x-other=2")
			t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=test,service.name=other")
			t.Setenv("OTEL_SERVICE_NAME", "ours")
			tracer := open(t, c.URL, quiet())
			if got := os.Getenv("OTEL_EXPORTER_OTLP_HEADERS"); got != "" {
				t.Errorf("children would see the headers %q", got)
			}
			call := httptest.NewRequest(http.MethodPost, "/x", nil)
			call.Header.Set("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
			ctx, outer := tracer.Serve(logging.WithRequest(t.Context(), "req-1"), call)
			logging.NoteSession(ctx, "sess_1")
			inner, span := tracer.Start(ctx, "pause", Reason("idle"))
			trail := tracer.Lay(inner)
			span.End(fault.New(fault.Conflict, "no: %s", "what a caller said"))
			_, bad := tracer.Start(ctx, "resume")
			bad.End(errors.New("broken"))
			outer.End("/sessions/{session}/pause", 503)
			begin := time.UnixMicro(1_700_000_000_000_001)
			tracer.Record(trail, "run", begin, begin.Add(time.Minute), true, Run("run_1"), QueueSeconds(1.5))
			tracer.RecordBelow(trail, "approval", begin, begin.Add(time.Second), false, Bytes(7))
			tracer.Stop()

			c.mu.Lock()
			defer c.mu.Unlock()
			if c.headers.Get("X-Key") != "a secret" || c.headers.Get("X-Other") != "2" {
				t.Errorf("headers %v", c.headers)
			}
			for key, want := range map[string]string{"service.name": "ours", "service.version": "v1", "deployment.environment": "test", "telemetry.sdk.language": "go"} {
				if c.about[key] != want {
					t.Errorf("%s is %q, want %q", key, c.about[key], want)
				}
			}
			top := c.spans["POST /sessions/{session}/pause"]
			if top == nil || hex.EncodeToString(top.TraceId) != "0af7651916cd43dd8448eb211c80319c" || hex.EncodeToString(top.ParentSpanId) != "b7ad6b7169203331" ||
				top.Kind != tracepb.Span_SPAN_KIND_SERVER || top.Status.GetCode() != tracepb.Status_STATUS_CODE_ERROR || top.Flags != 0x301 ||
				said(top, "paddock.request.id") != "req-1" || said(top, "paddock.session.id") != "sess_1" {
				t.Fatalf("the call is %v", top)
			}
			pause, resume, run, approval := c.spans["pause"], c.spans["resume"], c.spans["run"], c.spans["approval"]
			for _, s := range []struct{ span, parent *tracepb.Span }{{pause, top}, {resume, top}, {run, pause}, {approval, run}} {
				if s.span == nil || !bytes.Equal(s.span.TraceId, top.TraceId) || !bytes.Equal(s.span.ParentSpanId, s.parent.SpanId) {
					t.Fatalf("%v is not below %v", s.span, s.parent)
				}
			}
			if said(pause, "paddock.outcome") != "refused" || said(pause, "error.type") != "conflict" || pause.Status != nil || pause.Flags != 0x101 ||
				strings.Contains(pause.String(), "what a caller said") || said(pause, "paddock.reason") != "idle" {
				t.Errorf("the pause is %v", pause)
			}
			if said(resume, "paddock.outcome") != "failed" || resume.Status.GetCode() != tracepb.Status_STATUS_CODE_ERROR || resume.EndTimeUnixNano < resume.StartTimeUnixNano {
				t.Errorf("the resume is %v", resume)
			}
			if run.StartTimeUnixNano != uint64(begin.UnixNano()) || run.EndTimeUnixNano-run.StartTimeUnixNano != uint64(time.Minute) ||
				run.Attributes[1].Value.GetDoubleValue() != 1.5 || approval.Attributes[0].Value.GetIntValue() != 7 {
				t.Errorf("the run is %v, the approval %v", run, approval)
			}
		})
	}
}

// A caller who does not sample is not told of, nor are the runs it begins.
func TestUnsampledCaller(t *testing.T) {
	c := newCollector(t)
	tracer := open(t, c.URL, quiet())
	call := httptest.NewRequest(http.MethodGet, "/x", nil)
	call.Header.Set("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00")
	ctx, span := tracer.Serve(t.Context(), call)
	trail := tracer.Lay(ctx)
	span.End("/x", 200)
	tracer.Record(trail, "run", time.Now(), time.Now(), false)
	tracer.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.spans) > 0 || trail == "" {
		t.Errorf("trail %q, told %v", trail, c.spans)
	}
}

func TestNothingConfigured(t *testing.T) {
	for name, set := range map[string]map[string]string{
		"nothing":  {},
		"disabled": {"OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4318"},
		"none":     {"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4318"},
	} {
		t.Run(name, func(t *testing.T) {
			for k, v := range set {
				t.Setenv(k, v)
			}
			tracer := open(t, "", quiet())
			if tracer != nil {
				t.Fatal("there is a tracer")
			}
			ctx, call := tracer.Serve(t.Context(), httptest.NewRequest(http.MethodGet, "/", nil))
			ctx, span := tracer.Start(ctx, "x")
			span.Note(Reason("x"))
			span.End(nil)
			call.End("/", 200)
			if trail := tracer.Lay(ctx); trail != "" {
				t.Errorf("laid %s", trail)
			}
			tracer.Record("", "run", time.Now(), time.Now(), false)
			tracer.RecordBelow("nonsense", "run", time.Now(), time.Now(), false)
			tracer.Stop()
		})
	}
}

func TestConfigure(t *testing.T) {
	for _, c := range []struct {
		endpoint string
		set      []string
		url      string
		fault    string
	}{
		{endpoint: "http://a:4318", url: "http://a:4318/v1/traces"},
		{endpoint: "http://a/base/", set: []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://b"}, url: "http://a/base/v1/traces"},
		{set: []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "https://b"}, url: "https://b/v1/traces"},
		{set: []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://b", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://c/other"}, url: "http://c/other"},
		{endpoint: "localhost:4318", fault: "--otlp-endpoint is"},
		{set: []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "b:4317"}, fault: "OTEL_EXPORTER_OTLP_ENDPOINT is"},
		{endpoint: "http://a", set: []string{"OTEL_EXPORTER_OTLP_HEADERS", "good=1,hush"}, fault: "header 2"},
		{endpoint: "http://a", set: []string{"OTEL_EXPORTER_OTLP_HEADERS", "a=hush%0a"}, fault: "header 1"},
		{endpoint: "http://a", set: []string{"OTEL_EXPORTER_OTLP_TIMEOUT", "1s"}, fault: "milliseconds"},
		{endpoint: "http://a", set: []string{"OTEL_EXPORTER_OTLP_COMPRESSION", "zip"}, fault: "want gzip"},
	} {
		t.Run(c.url+c.fault, func(t *testing.T) {
			for i := 0; i < len(c.set); i += 2 {
				t.Setenv(c.set[i], c.set[i+1])
			}
			got, err := Configure(c.endpoint)
			if c.fault == "" && (err != nil || got.URL != c.url) {
				t.Errorf("%s, %v", got.URL, err)
			}
			if c.fault != "" && (err == nil || !strings.Contains(err.Error(), c.fault) || strings.Contains(err.Error(), "hush")) {
				t.Errorf("fault is %v", err)
			}
		})
	}
}

// A collector that is gone, or refuses, or takes the call and says nothing: nobody
// waits for it, and one line is written, however many spans are lost.
func TestCollectorIsOfNoUse(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	refuses := newCollector(t)
	refuses.status = http.StatusUnauthorized
	busy := newCollector(t)
	busy.status = http.StatusServiceUnavailable
	release := make(chan struct{})
	mute := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer mute.Close()
	defer close(release)
	for name, url := range map[string]string{"gone": gone.URL, "refuses": refuses.URL, "busy": busy.URL, "mute": mute.URL} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "1")
			t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x=hush")
			var lines safeBuffer
			tracer := open(t, url, slog.New(slog.NewTextHandler(&lines, nil)))
			for range 10_000 { // more than the queue takes
				_, span := tracer.Start(context.Background(), "x")
				span.End(nil)
			}
			tracer.Stop()
			if text := lines.String(); strings.Count(text, "\n") != 1 || strings.Contains(text, "hush") {
				t.Errorf("the log says %q", text)
			}
		})
	}
	for _, c := range []*collector{refuses, busy} {
		c.mu.Lock()
		if c.posts < 1 {
			t.Error("it was not tried")
		}
		c.mu.Unlock()
	}
}

// What a collector cannot take just now it is given again.
func TestGivenAgain(t *testing.T) {
	c := newCollector(t)
	c.status = http.StatusTooManyRequests
	s, err := newSender(Config{URL: c.URL + "/v1/traces", Timeout: time.Second}, quiet())
	if err != nil {
		t.Fatal(err)
	}
	defer s.cancel()
	if later, err := s.post(t.Context(), nil); later < 0 || err == nil {
		t.Errorf("429 is %v, %v", later, err)
	}
	c.answer(http.StatusBadRequest)
	if later, err := s.post(t.Context(), nil); later >= 0 || err == nil {
		t.Errorf("400 is %v, %v", later, err)
	}
	c.answer(http.StatusOK)
	if _, err := s.post(t.Context(), nil); err != nil {
		t.Error(err)
	}
	s.client.CloseIdleConnections()
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
