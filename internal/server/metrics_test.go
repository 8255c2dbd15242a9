package server

import (
	"strings"
	"testing"

	"paddock/internal/fault"
	"paddock/internal/metrics"
)

// Calls are counted by the pattern that serves them, under both prefixes, and
// never by what somebody asked for.
func TestCallsAreMeasuredByRoute(t *testing.T) {
	s := newStage()
	h := newHandler(s, Options{Metrics: metrics.New("v1")})
	do(t, h, "GET", "/v2/harness-runtime/sessions/my-secret-name", "")
	do(t, h, "GET", "/v2/agents/sessions/my-secret-name", "")
	do(t, h, "POST", "/v2/agents/sessions/x/sandbox/exec", `{"argv":["true"]}`)
	do(t, h, "GET", "/v2/agents/sessions/x/checkpoints", "")
	do(t, h, "GET", "/my-secret-path", "")
	do(t, h, "GET", "/v2/agents/sessions", "", "Authorization", "")
	s.err = fault.New(fault.Conflict, "no")
	do(t, h, "POST", "/v2/agents/sessions/x/input", `{"text":"hi"}`)
	c := do(t, h, "GET", "/metrics", "", "Authorization", "")
	equal(t, []any{c.status, strings.HasPrefix(c.header.Get("Content-Type"), "text/plain; version=0.0.4")}, []any{200, true})
	for _, want := range []string{
		`paddock_http_request_duration_seconds_count{method="GET",route="/sessions/{session}",status="2xx"} 2`,
		`paddock_http_request_duration_seconds_count{method="GET",route="/sessions/{session}/checkpoints",status="5xx"} 1`,
		`paddock_http_request_duration_seconds_count{method="GET",route="other",status="4xx"} 2`,
		`paddock_verb_duration_seconds_count{outcome="ok",verb="exec"} 1`,
		`paddock_verb_duration_seconds_count{outcome="refused",verb="input"} 1`,
		`paddock_http_requests_in_flight{route="/metrics"} 1`,
	} {
		if !strings.Contains(c.body, want+"\n") {
			t.Errorf("there is no %s in\n%s", want, c.body)
		}
	}
	if strings.Contains(c.body, "secret") {
		t.Error("the metrics name what was asked for")
	}
}

// TestServersOwnRoutesAreAsDefined holds what stands beside the API, and needs
// no token, against openapi.yaml.
func TestServersOwnRoutesAreAsDefined(t *testing.T) {
	h, own := newHandler(newStage(), Options{Metrics: metrics.New("v1")}), 0
	for path, item := range definition(t).Paths.Map() {
		if len(item.Servers) == 0 {
			continue
		}
		own++
		c := do(t, h, "GET", path, "", "Authorization", "")
		media, _, _ := strings.Cut(c.header.Get("Content-Type"), ";")
		if c.status != 200 || item.Get.Responses.Status(200).Value.Content.Get(media) == nil {
			t.Errorf("%s gives %d of %s", path, c.status, media)
		}
	}
	equal(t, own, 4)
}
