package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// example is what a route's test needs to know of it.
type example struct {
	body     string // a good one, of JSON; routes without a body have none
	optional bool   // the call is the same without a body
	media    string // of a body that is no JSON, and not read into memory
	limit    int    // of the body, in bytes
	typo     string // a body with a mistyped key, "" where no key is known
	means    string // the key that was meant
	query    string // what the route cannot do without
	status   int    // of the good call; 0: 200
}

// examples has an entry for each served route, so that a new one is held to the
// conventions, too.
var examples = map[string]example{
	"POST /sessions": {body: `{"agent_kind":"AGENT_KIND_NONE"}`, limit: maxSpec, typo: `{"agent_kind":"AGENT_KIND_NONE","repo_hin":""}`,
		means: "repo_hint", status: 201},
	"GET /sessions":             {},
	"GET /sessions/{session}":   {},
	"PATCH /sessions/{session}": {body: `{"resume_on_topoff":true}`, limit: maxSpec, typo: `{"resume_on_topof":true}`, means: "resume_on_topoff"},

	"DELETE /sessions/{session}":      {status: 204},
	"POST /sessions/{session}/pause":  {body: `{"cold":false}`, optional: true, limit: maxBody, typo: `{"colt":true}`, means: "cold", status: 204},
	"POST /sessions/{session}/resume": {body: `{}`, optional: true, limit: maxBody, status: 204},
	"POST /sessions/{session}/input":  {body: `{"text":"hi"}`, limit: maxInput, typo: `{"txet":"hi"}`, means: "text"},
	"POST /sessions/{session}/cancel": {body: `{"run_id":"run_x"}`, optional: true, limit: maxBody, typo: `{"runid":"x"}`, means: "run_id"},
	"GET /sessions/{session}/runs":    {},
	"GET /sessions/{session}/events":  {query: "replay_only=true"},
	"GET /events":                     {query: "replay_only=true"},
	"GET /sessions/{session}/files":   {},
	"GET /sessions/{session}/diff":    {},
	"GET /sessions/sandbox/stats":     {},
	"POST /sessions/policy/validate":  {body: `{"manifest_yaml":"agent: demo"}`, limit: maxSpec, typo: `{"manifest_yml":""}`, means: "manifest_yaml"},
	"GET /sessions/sandbox/sizes":     {},
	"GET /regions":                    {},
	"GET /configs":                    {},
	"POST /configs":                   {body: `{"name":"a","manifest_yaml":"agent: demo"}`, limit: maxSpec, typo: `{"name":"a","manifest_yml":"x"}`, means: "manifest_yaml", status: 201},
	"GET /configs/{environment}":      {},
	"GET /agents":                     {},

	"DELETE /agents/{agent}/versions/{version}": {status: 204},

	"GET /templates": {},
	"POST /templates": {body: `{"name":"a","base_template":"b","source_oci_ref":"debian:13"}`, limit: maxBody, typo: `{"name":"a","source_oci_reff":"x"}`,
		means: "source_oci_ref", status: 201},
	"GET /templates/{template}":           {},
	"PUT /templates/{template}":           {body: `{"base_template":"b"}`, limit: maxBody, typo: `{"base_templat":"x"}`, means: "base_template"},
	"DELETE /templates/{template}":        {},
	"PUT /templates/{template}/image":     {body: "an archive", media: "application/octet-stream"},
	"DELETE /configs/{environment}":       {status: 204},
	"GET /configs/{environment}/sessions": {},
	"GET /sessions/{session}/approvals":   {},
	"GET /approvals":                      {},
	"GET /sessions/{session}/grants":      {},

	"DELETE /sessions/{session}/grants/{grant}": {status: 204},

	"GET /sessions/{session}/runs/{run}":        {},
	"GET /sessions/{session}/runs/{run}/events": {},
	"GET /sessions/{session}/files/content":     {query: "path=a"},

	"POST /sessions/{session}/hitl/{approval}": {body: `{"outcome":"HITL_OUTCOME_APPROVE"}`, limit: maxBody,
		typo: `{"outcome":"HITL_OUTCOME_APPROVE","raeson":"x"}`, means: "reason", status: 204},
	"POST /sessions/{session}/sandbox/exec": {body: `{"argv":["true"]}`, limit: maxExec, typo: `{"argvs":["true"]}`, means: "argv"},
}

// TestConventions holds every route under both prefixes to what they have in
// common.
func TestConventions(t *testing.T) {
	routes := map[string]bool{}
	for _, prefix := range prefixes {
		for _, r := range served {
			name := r.method + " " + r.path
			routes[name] = true
			ex, ok := examples[name]
			if !ok || ex.body == "" && r.method != "GET" && r.method != "DELETE" {
				t.Errorf("%s has no example", name)
				continue
			}
			t.Run(prefix[4:]+" "+name, func(t *testing.T) {
				c := &convention{T: t, h: newHandler(newStage(), Options{}), check: newChecked(t, nil), route: r, ex: ex, path: prefix + concrete(r.path)}
				c.accepts()
				c.authenticates()
				c.refusesQueries()
				c.refusesMethods()
				if ex.media != "" {
					c.refuses(c.ask(ex.body, "Content-Type", "application/json"), 415, "send")
				} else if ex.body != "" {
					c.refusesBodies()
				}
			})
		}
		for _, r := range unserved {
			t.Run(prefix[4:]+" "+r.method+" "+r.path, func(t *testing.T) {
				c := &convention{T: t, h: newHandler(newStage(), Options{}), check: newChecked(t, nil), route: route{method: r.method, path: r.path}, path: prefix + concrete(r.path)}
				c.authenticates()
				c.refuses(c.ask(""), 501, "not supported yet")
			})
		}
	}
	for name := range examples {
		if !routes[name] {
			t.Errorf("%s is no route", name)
		}
	}
}

// convention is the test of one route.
type convention struct {
	*testing.T
	h     http.Handler
	check *checked
	route route
	ex    example
	path  string
}

// ask makes the call with what the route needs; headers are name, value pairs.
func (c *convention) ask(body string, headers ...string) call {
	c.Helper()
	return c.with(c.route.method, c.ex.query, strings.NewReader(body), headers...)
}

func (c *convention) with(method, query string, body io.Reader, headers ...string) call {
	c.Helper()
	const name = "the-callers.own_ID-1"
	r := httptest.NewRequest(method, c.path+"?"+query, body)
	for i, pair := 0, append([]string{"Authorization", "Bearer " + goodToken, "Content-Type", "application/json", "X-Request-Id", name}, headers...); i < len(pair); i += 2 {
		r.Header.Set(pair[i], pair[i+1])
	}
	w := httptest.NewRecorder()
	c.h.ServeHTTP(w, r)
	if got := w.Header().Get("X-Request-Id"); got != name {
		c.Errorf("X-Request-Id is %q", got)
	}
	if w.Code != http.StatusMethodNotAllowed && strings.HasPrefix(w.Header().Get("Content-Type"), "application/json") && method != "HEAD" {
		r.URL.Path = strings.Replace(r.URL.Path, prefixes[1], prefixes[0], 1)
		c.check.check(r, w.Result(), w.Body.Bytes())
	}
	return call{w.Code, w.Header(), w.Body.String()}
}

// refuses checks a refusal.
func (c *convention) refuses(got call, status int, says string) {
	c.Helper()
	body := errorOf(c.T, got)
	if got.status != status || !strings.Contains(body.Message, says) {
		c.Errorf("%d %s, want %d with %q", got.status, body.Message, status, says)
	}
	if strings.ContainsAny(body.Message, "\n") || len(body.Message) > 500 {
		c.Errorf("no sentence for people: %s", body.Message)
	}
}

func (c *convention) accepts() {
	c.Helper()
	want := max(c.ex.status, 200)
	variants := [][]string{nil, {"Content-Type", "application/json; charset=UTF-8"}, {"X-Device-UUID", "d"}}
	if c.ex.media != "" {
		variants = [][]string{{"Content-Type", c.ex.media}, {"Content-Type", c.ex.media, "X-Device-UUID", "d"}}
	}
	for _, headers := range variants {
		if got := c.ask(c.ex.body, headers...); got.status != want {
			c.Errorf("with %v: %d %s, want %d", headers, got.status, got.body, want)
		}
	}
	if c.ex.body != "" && c.ex.media == "" {
		c.asDefined(c.ex.body, true)
		if got := c.ask("\uFEFF " + c.ex.body + "\n"); got.status != want {
			c.Errorf("with a byte order mark: %d %s", got.status, got.body)
		}
	}
	if c.route.method == "GET" {
		get, head := c.ask(""), c.with("HEAD", c.ex.query, nil)
		if head.status != get.status || head.header.Get("Content-Type") != get.header.Get("Content-Type") {
			c.Errorf("HEAD gives %d %v", head.status, head.header)
		}
	}
}

// asDefined checks whether openapi.yaml takes a body as the server does.
func (c *convention) asDefined(body string, ok bool) {
	c.Helper()
	operation := c.check.doc.Paths.Find(c.route.path).GetOperation(c.route.method)
	var value any
	if err := json.Unmarshal([]byte(body), &value); err != nil {
		c.Fatal(err)
	}
	err := operation.RequestBody.Value.Content.Get("application/json").Schema.Value.VisitJSON(value, openapi3.MultiErrors())
	if (err == nil) != ok {
		c.Errorf("openapi.yaml about %s: %v", body, err)
	}
}

func (c *convention) authenticates() {
	c.Helper()
	for _, header := range []string{"", "Basic " + goodToken, "Bearer", "Bearer bad", "Bearer " + goodToken + "x", goodToken} {
		got := c.with(c.route.method, "bogus=1", strings.NewReader("not read"), "Authorization", header)
		c.refuses(got, 401, "token")
		equal(c.T, got.header.Get("WWW-Authenticate"), "Bearer")
	}
}

func (c *convention) refusesQueries() {
	c.Helper()
	for _, q := range []string{"bogus=1", "bogus", "=1", c.ex.query + "&Path=b"} {
		c.refuses(c.with(c.route.method, q, strings.NewReader(c.ex.body)), 400, "unknown query parameter")
	}
	for _, q := range []string{"a=%zz", "a;b=1"} {
		c.refuses(c.with(c.route.method, q, strings.NewReader(c.ex.body)), 400, "malformed")
	}
	for _, name := range c.route.query {
		c.refuses(c.with(c.route.method, name+"=1&"+name+"=1", strings.NewReader(c.ex.body)), 400, fmt.Sprintf("%q is given twice", name))
		if len(name) < 4 {
			continue
		}
		typo := name[:len(name)-2] + name[len(name)-1:]
		c.refuses(c.with(c.route.method, typo+"=1", strings.NewReader(c.ex.body)), 400, "did you mean")
	}
}

func (c *convention) refusesMethods() {
	c.Helper()
	var allowed []string
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"} {
		if slices.ContainsFunc(served, func(r route) bool {
			return concrete(r.path) == concrete(c.route.path) && (r.method == method || r.method == "GET" && method == "HEAD")
		}) {
			allowed = append(allowed, method)
		}
	}
	for _, method := range []string{"PUT", "OPTIONS", "TRACE", "BREW"} {
		if slices.Contains(allowed, method) {
			continue
		}
		got := c.with(method, "", nil)
		c.refuses(got, 405, "does not take "+method)
		equal(c.T, got.header.Get("Allow"), strings.Join(allowed, ", "))
	}
}

func (c *convention) refusesBodies() {
	c.Helper()
	for _, media := range []string{"text/plain", "", "application/json; charset=latin1", "multipart/form-data; boundary=x", "/"} {
		c.refuses(c.ask(c.ex.body, "Content-Type", media), 415, "send")
	}
	for _, packing := range []string{"gzip", "br", "identity, gzip"} {
		c.refuses(c.ask(c.ex.body, "Content-Encoding", packing), 415, "Content-Encoding")
	}
	large := strings.Repeat(" ", c.ex.limit-len(c.ex.body)+1) + c.ex.body
	c.refuses(c.ask(large), 413, "larger than")
	c.refuses(c.with(c.route.method, c.ex.query, io.MultiReader(bytes.NewBufferString(large))), 413, "larger than") // of unknown length
	if got := c.ask(large[1:]); got.status != max(c.ex.status, 200) {
		c.Errorf("a body of just the limit: %d %s", got.status, got.body)
	}
	if got := c.with(c.route.method, c.ex.query, io.MultiReader(strings.NewReader(""))); c.ex.optional != (got.status < 300) {
		c.Errorf("without a body: %d %s", got.status, got.body)
	}
	for body, says := range map[string]string{
		" ": "empty", "{": "not JSON", "[]": "not a JSON object", "null": "not a JSON object", `"x"`: "not a JSON object",
		c.ex.body + "{}": "not JSON", `{"\u0000":1}`: "unknown key", `{"":1}`: "unknown key", c.ex.body[:1] + "\xff" + c.ex.body[1:]: "not UTF-8",
		strings.Repeat(`{"a":`, 100_000): "not JSON", `{"nosuch":1e999999}`: "unknown key",
	} {
		c.refuses(c.ask(body), 400, says)
	}
	if c.ex.typo != "" {
		c.refuses(c.ask(c.ex.typo), 400, fmt.Sprintf("did you mean %q?", c.ex.means))
		c.asDefined(c.ex.typo, false)
	}
	if inner := strings.Trim(c.ex.body, "{}"); inner != "" {
		c.refuses(c.ask("{"+inner+","+inner+"}"), 400, "is given twice")
	}
}
