package server

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"paddock/internal/engine"
	"paddock/internal/fault"
	"paddock/internal/id"
	"paddock/internal/server/gen"
	"paddock/internal/server/sse"
)

func TestServerItself(t *testing.T) {
	s := newStage()
	h := newHandler(s, Options{Version: "v1"})
	equal(t, do(t, h, "GET", "/healthz", "", "Authorization", "").body, `{"status":"ok","version":"v1"}`+"\n")
	equal(t, do(t, h, "GET", "/readyz", "", "Authorization", "").status, 200)
	s.err = fault.New(fault.Unavailable, "the template is being prepared")
	c := do(t, h, "GET", "/readyz", "", "Authorization", "")
	equal(t, []any{c.status, errorOf(t, c).ID, c.header.Get("Retry-After")}, []any{503, "unavailable", "1"})
	c = do(t, h, "GET", "/openapi.yaml", "", "Authorization", "")
	if !strings.HasPrefix(c.body, "openapi: 3.1.0\n") {
		t.Fatalf("openapi.yaml begins %.40q", c.body)
	}
}

func TestRequestIDs(t *testing.T) {
	h := newHandler(newStage(), Options{})
	equal(t, do(t, h, "GET", "/healthz", "", "X-Request-Id", "my-call.7").header.Get("X-Request-Id"), "my-call.7")
	for _, bad := range []string{"", "a b", "ü", strings.Repeat("x", 129)} {
		if got := do(t, h, "GET", "/nope", "", "X-Request-Id", bad).header.Get("X-Request-Id"); !strings.HasPrefix(got, "req_") {
			t.Errorf("%q gave %q", bad, got)
		}
	}
}

type panicking struct{ *stage }

func (panicking) Session(context.Context, id.Team, string) (engine.View, error) {
	panic("a bug")
}

func TestFailuresRevealNothing(t *testing.T) {
	s := newStage()
	s.err = errors.New("open /secret/place: no such file")
	for _, h := range []http.Handler{newHandler(s, Options{}), newHandler(panicking{newStage()}, Options{})} {
		c := do(t, h, "GET", "/v2/agents/sessions/x", "")
		equal(t, c.status, 500)
		if m := errorOf(t, c).Message; strings.Contains(m, "secret") || strings.Contains(m, "bug") {
			t.Errorf("the answer says %q", m)
		}
	}
}

func TestOurAnswersAreAsDefined(t *testing.T) {
	client, check := public(t, newStage())
	for _, path := range []string{
		"/healthz", "/readyz", "/v2/harness-runtime/sessions/x", "/v2/harness-runtime/sessions/x/runs", "/v2/harness-runtime/sessions/x/runs/r",
		"/v2/harness-runtime/sessions/x/approvals?state=all", "/v2/harness-runtime/sessions/x/files", "/v2/harness-runtime/sessions/x/files?path=src",
		"/v2/harness-runtime/sessions/x/events?after=evt_x&wait=0s",
	} {
		request, _ := http.NewRequest("GET", strings.TrimSuffix(client.BaseURL.String(), "/")+path, nil)
		request.Header.Set("Accept", "application/json")
		response, err := client.HTTPClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		equal(t, response.StatusCode, 200)
	}
	response, err := client.HTTPClient.Post(strings.TrimSuffix(client.BaseURL.String(), "/")+"/v2/harness-runtime/sessions/x/cancel", "application/json", strings.NewReader(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, string(drain(t, response)), `{"outcome":"acked","run_id":"`+someRun.String()+`","session_id":"`+someSession.String()+`"}`+"\n")
	equal(t, check.count, 10)
}

func TestExecOnTheWire(t *testing.T) {
	c := do(t, newHandler(newStage(), Options{}), "POST", "/v2/agents/sessions/x/sandbox/exec", `{"argv":["x"]}`)
	equal(t, []string{c.header.Get("X-Exec-Stdout-Truncated"), c.header.Get("X-Exec-Stderr-Truncated")}, []string{"true", ""})
	var got gen.ExecResult
	if err := json.Unmarshal([]byte(c.body), &got); err != nil {
		t.Fatal(err)
	}
	equal(t, got, gen.ExecResult{ExitCode: 3, Stdout: "out", Stderr: "e\uFFFD", StderrBase64: []byte{'e', 0xff}, DurationMS: 1500})
}

func TestFileContent(t *testing.T) {
	h := newHandler(newStage(), Options{})
	for _, c := range []struct {
		header, value string
		status        int
		body, part    string
	}{
		{"", "", 200, "0123456789", ""},
		{"Range", "bytes=2-4", 206, "234", "bytes 2-4/10"},
		{"Range", "bytes=7-", 206, "789", "bytes 7-9/10"},
		{"Range", "bytes=7-99", 206, "789", "bytes 7-9/10"},
		{"Range", "bytes=-3", 206, "789", "bytes 7-9/10"},
		{"Range", "bytes=-30", 206, "0123456789", "bytes 0-9/10"},
		{"Range", "bytes=10-", 416, "", "bytes */10"},
		{"Range", "bytes=1-2,4-5", 200, "0123456789", ""},
		{"Range", "bytes=4-2", 200, "0123456789", ""},
		{"Range", "lines=1-2", 200, "0123456789", ""},
	} {
		got := do(t, h, "GET", "/v2/agents/sessions/x/files/content?path=a", "", c.header, c.value)
		equal(t, []any{got.status, got.header.Get("Content-Range")}, []any{c.status, c.part})
		if c.status == 416 {
			errorOf(t, got)
			continue
		}
		equal(t, got.body, c.body)
		equal(t, got.header.Get("Content-Type"), "application/octet-stream")
	}
	head := do(t, h, "HEAD", "/v2/agents/sessions/x/files/content?path=a", "")
	equal(t, []any{head.status, head.header.Get("Content-Length"), head.body}, []any{200, "10", ""})
}

func TestShutdownEndsStreams(t *testing.T) {
	server := HTTP(newHandler(newStage(), Options{Streams: sse.Options{KeepAlive: time.Hour}}))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	defer serving.Wait()
	request, _ := http.NewRequest("GET", "http://"+listener.Addr().String()+"/v2/agents/sessions/x/events", nil)
	request.Header.Set("Authorization", "Bearer "+goodToken)
	stream, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stream.Body)
	for lines.Scan() && !strings.Contains(lines.Text(), `"live"`) {
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		t.Fatalf("shutdown: %v", err)
	}
	for lines.Scan() {
		if lines.Text() == ": end" {
			t.Error("a stream that the server cuts says that it is over")
		}
	}
	stream.Body.Close()
}

// A call that the stopping server ends is never answered by an empty 200, which
// reads as a command that succeeded.
func TestInterruptedCallsAreNoSuccess(t *testing.T) {
	s := newStage()
	s.err = context.Canceled
	h := newHandler(s, Options{})
	ctx, stop := context.WithCancel(context.Background())
	stop()
	r := httptest.NewRequestWithContext(ctx, "POST", "/v2/agents/sessions/x/sandbox/exec", strings.NewReader(`{"argv":["true"]}`))
	r.Header.Set("Authorization", "Bearer "+goodToken)
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	equal(t, w.Code, 503)
	if !strings.Contains(w.Body.String(), "stopping") || w.Header().Get("Retry-After") == "" {
		t.Errorf("the answer is %s %v", w.Body, w.Header())
	}
}
