package e2e

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/digitalocean/godo"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"paddock/e2e/host"
)

// collector takes the spans of servers, as an OpenTelemetry collector would.
type collector struct {
	*httptest.Server
	mu    sync.Mutex
	spans []*tracepb.Span
	bytes bytes.Buffer
	wrong []string
}

func startCollector(t *testing.T) *collector {
	c := &collector{}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

func (c *collector) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var data tracepb.TracesData // in the wire form of the request
	if err == nil {
		err = proto.Unmarshal(body, &data)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("X-Key") != "hush" {
		c.wrong = append(c.wrong, r.URL.Path)
		return
	}
	c.bytes.Write(body)
	for _, rs := range data.ResourceSpans {
		for _, ss := range rs.ScopeSpans {
			c.spans = append(c.spans, ss.Spans...)
		}
	}
}

// of gives the spans of a trace as lines, each the path of names from the trace's
// top to the span.
func (c *collector) of(trace string) map[string]*tracepb.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	byID := map[string]*tracepb.Span{}
	for _, s := range c.spans {
		if hex.EncodeToString(s.TraceId) == trace {
			byID[string(s.SpanId)] = s
		}
	}
	lines := map[string]*tracepb.Span{}
	for _, s := range byID {
		path := s.Name
		for up := byID[string(s.ParentSpanId)]; up != nil; up = byID[string(up.ParentSpanId)] {
			path = up.Name + " > " + path
		}
		lines[path] = s
	}
	return lines
}

// says gives what a span says under a key.
func says(s *tracepb.Span, key string) string {
	for _, a := range s.GetAttributes() {
		if a.Key == "paddock."+key {
			return a.Value.GetStringValue()
		}
	}
	return ""
}

// traced makes a call of the API within a trace of the caller's, and gives the id
// of the run that it began, if any.
func (s *server) traced(trace, method, path, body string) (run string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), method, "http://"+s.addr+"/v2/harness-runtime"+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Traceparent", "00-"+trace+"-00000000000000a1-01")
	r.Header.Set("X-Request-Id", "call-"+trace[:4])
	if strings.HasPrefix(body, "agent:") {
		r.Header.Set("Content-Type", "application/x-yaml")
	} else if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil || response.StatusCode > 299 {
		s.t.Fatalf("%s %s: %v %v", method, path, response, err)
	}
	defer response.Body.Close()
	var answer struct {
		RunID string `json:"run_id"`
	}
	_ = json.NewDecoder(response.Body).Decode(&answer) // most have none
	return answer.RunID
}

// A session's life, told to a collector as a tree: each call in the caller's own
// trace, with what the server did for it, runs and approvals also over a killed
// server; and nothing of what was said.
func TestTraces(t *testing.T) {
	c := startCollector(t)
	env := []string{"OTEL_EXPORTER_OTLP_HEADERS=x-key=hush", "OTEL_BSP_SCHEDULE_DELAY=20", "OTEL_SERVICE_NAME=traced"}
	s := newServer(t, "--otlp-endpoint", c.URL)
	s.env = env
	s.start()
	s.waitServing()

	id := func(n string) string { return strings.Repeat(n, 32) }
	creates, inputs, asks, pauses, removes := id("1"), id("2"), id("3"), id("4"), id("5")
	s.traced(creates, http.MethodPost, "/sessions", "agent: demo\nname: told\nenv: {WORD: canary-env}\n")
	sess := s.waitStatus("told", godo.HostedAgentSessionStatusReady)
	s.waitRun(sess.SessionID, s.traced(inputs, http.MethodPost, "/sessions/told/input", `{"text":"say canary-prompt"}`))
	asking := s.traced(asks, http.MethodPost, "/sessions/told/input", `{"text":"run echo canary-command"}`)
	eventually(t, "it asks", func() bool { return len(s.approvals("?state=pending")) == 1 })
	hitl := s.approvals("?state=pending")[0].RequestID
	s.kill()
	s.env = env
	s.start()
	s.waitServing()
	s.decide(sess.SessionID, hitl, map[string]any{"reason": "canary-reason"})
	s.waitRun(sess.SessionID, asking)
	s.sh(sess.SessionID, "echo canary-exec")
	for _, pid := range host.Processes(s.dir) {
		environ, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
		if bytes.Contains(environ, []byte("hush")) && pid != s.cmd.Process.Pid {
			t.Errorf("process %d of a sandbox sees the collector's key", pid)
		}
	}
	s.traced(pauses, http.MethodPost, "/sessions/told/pause", "")
	s.traced(pauses, http.MethodPost, "/sessions/told/resume", "")
	s.traced(removes, http.MethodDelete, "/sessions/told", "")
	s.waitGone(sess.SandboxID)

	for trace, want := range map[string][]string{
		creates: {"POST /sessions", "POST /sessions > create", "POST /sessions > create > admission", "POST /sessions > create > boot"},
		inputs: {"POST /sessions/{session}/input", "POST /sessions/{session}/input > input",
			"POST /sessions/{session}/input > input > run", "POST /sessions/{session}/input > input > run > queue"},
		asks: {"POST /sessions/{session}/input > input > run", "POST /sessions/{session}/input > input > run > approval"},
		pauses: {"POST /sessions/{session}/pause", "POST /sessions/{session}/pause > pause",
			"POST /sessions/{session}/resume", "POST /sessions/{session}/resume > resume"},
		removes: {"DELETE /sessions/{session}", "DELETE /sessions/{session} > remove"},
	} {
		for _, path := range want {
			eventually(t, path+" is told", func() bool { return c.of(trace)[path] != nil })
			span := c.of(trace)[path]
			if got := says(span, "session.id"); got != sess.SessionID && !strings.HasSuffix(path, "admission") {
				t.Errorf("%s is about session %q", path, got)
			}
			if !strings.Contains(path, ">") && (hex.EncodeToString(span.ParentSpanId) != "00000000000000a1" || says(span, "request.id") != "call-"+trace[:4]) {
				t.Errorf("%s is below %x, of call %s", path, span.ParentSpanId, says(span, "request.id"))
			}
		}
	}
	if got := says(c.of(asks)["POST /sessions/{session}/input > input > run > approval"], "outcome"); got != "approved" {
		t.Errorf("the approval is %q", got)
	}
	run := c.of(asks)["POST /sessions/{session}/input > input > run"]
	approval := c.of(asks)["POST /sessions/{session}/input > input > run > approval"]
	if run.StartTimeUnixNano > approval.StartTimeUnixNano || approval.EndTimeUnixNano > run.EndTimeUnixNano || says(run, "outcome") != "completed" {
		t.Errorf("the run is %v, and the approval in it %v", run, approval)
	}
	if !s.wrote("sandbox started", "call-1111", sess.SessionID) {
		t.Error("the line of the sandbox's start does not name the call that asked for it")
	}
	if line := `"trace_id":"` + pauses + `"`; !strings.Contains(s.log.String(), line) {
		t.Error("no line of the log names the trace")
	}
	s.stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	if bytes.Contains(c.bytes.Bytes(), []byte("canary")) || bytes.Contains(c.bytes.Bytes(), []byte(token)) || len(c.wrong) > 0 {
		t.Errorf("the collector was told what people say; wrong calls: %v", c.wrong)
	}
	if strings.Contains(s.log.String(), "hush") {
		t.Error("the log has the collector's key")
	}
}

// A collector that is down, or takes a call and never answers it, is of no matter
// to calls: all are answered while it has answered nothing, the log says so once,
// and the server ends in time.
func TestCollectorsThatDoNotWork(t *testing.T) {
	var asked atomic.Int64
	release := make(chan struct{})
	hangs := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked.Add(1)
		<-release
	}))
	defer hangs.Close()
	defer close(release)
	for name, url := range map[string]string{"down": "http://" + freePort(t), "hangs": hangs.URL} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.env = []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + url, "OTEL_EXPORTER_OTLP_TIMEOUT=600000",
				"OTEL_BSP_SCHEDULE_DELAY=1", "OTEL_BSP_MAX_QUEUE_SIZE=16", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE=4", "OTEL_BSP_EXPORT_TIMEOUT=600000"}
			s.start()
			s.waitServing()
			if name == "hangs" {
				s.list()
				eventually(t, "the collector was called", func() bool { return asked.Load() == 1 })
			}
			sess := s.create("agent: demo\n")
			s.turn(sess.SessionID, "say hello")
			for range 300 { // far more than the queue takes
				s.get(sess.SessionID)
			}
			s.stop()
			if n := strings.Count(s.log.String(), "send spans") + strings.Count(s.log.String(), "the last spans were not sent"); n != 1 {
				t.Errorf("%d lines tell of it", n)
			}
			if name == "hangs" && asked.Load() != 1 {
				t.Errorf("the collector had %d calls, and answered none", asked.Load())
			}
		})
	}
}
