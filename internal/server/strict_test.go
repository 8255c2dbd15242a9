package server

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"paddock/internal/fault"
	"paddock/internal/server/gen"
)

// concrete fills in a path's parameters.
func concrete(path string) string {
	for strings.Contains(path, "{") {
		from, rest, _ := strings.Cut(path, "{")
		_, to, _ := strings.Cut(rest, "}")
		path = from + "x" + to
	}
	return path
}

// errorOf decodes an error and checks that both shapes and the headers agree.
func errorOf(t *testing.T, c call) gen.ErrorBody {
	t.Helper()
	var body gen.ErrorBody
	if err := json.Unmarshal([]byte(c.body), &body); err != nil {
		t.Fatalf("%d %s: %v", c.status, c.body, err)
	}
	equal(t, c.header.Get("Content-Type"), "application/json")
	equal(t, body.RequestID, c.header.Get("X-Request-Id"))
	equal(t, body.Error, gen.ErrorDetail{Code: c.status, Message: body.Message})
	if body.ID == "" || body.Message == "" || body.RequestID == "" {
		t.Fatalf("error %s", c.body)
	}
	return body
}

func TestUnservedCallsAskTheEngineFirst(t *testing.T) {
	s := newStage()
	s.err = fault.New(fault.Conflict, "run run_1 is active")
	h := newHandler(s, Options{})
	for _, r := range unserved {
		equal(t, errorOf(t, do(t, h, r.method, prefixes[0]+concrete(r.path), "")).ID, "conflict")
	}
	s.missing = "x"
	for _, r := range unserved {
		want := "conflict"
		if len(thingsOf(r.path)) > 0 {
			want = "not_found"
		}
		equal(t, errorOf(t, do(t, h, r.method, prefixes[0]+concrete(r.path), "")).ID, want)
	}
	equal(t, errorOf(t, do(t, h, "PATCH", prefixes[0]+"/sessions/x", `{"manifest_yaml":"env: {}"}`)).ID, "conflict")
}

func TestUnknownPathsAndMethods(t *testing.T) {
	h := newHandler(newStage(), Options{})
	for _, path := range []string{
		"/", "/v2", "/v2/harness-runtime", "/v2/harness-runtime/nope", "/v2/agents/sessions/x/nope", "/v3/agents/sessions",
		"/v2/agents/sessions/", "/v2/agents/sessions/x/", "//v2/agents/sessions", "/v2/agents//sessions", "/v2/agents/sessions/../sessions",
		"/v2/agents/./sessions", "/v2/agents/sessions/..", "/V2/agents/sessions", "/v2/agents/triggers/by-name/x", "/v2/agents/sessions%2fx",
		"/" + strings.Repeat("x", 5000),
	} {
		c := do(t, h, "GET", path, "")
		equal(t, []any{c.status, errorOf(t, c).ID}, []any{404, "not_found"})
	}
	for path, allow := range map[string]string{
		"/healthz": "GET, HEAD", "/v2/agents/sessions": "GET, HEAD, POST", "/v2/agents/sessions/x": "GET, HEAD, PATCH, DELETE",
		"/v2/agents/sessions/x/pause": "POST",
	} {
		c := do(t, h, "PUT", path, "")
		equal(t, []any{c.status, c.header.Get("Allow")}, []any{405, allow})
		equal(t, errorOf(t, c).ID, "method_not_allowed")
	}
}

func TestBodies(t *testing.T) {
	const s = "/v2/harness-runtime/sessions"
	h := newHandler(newStage(), Options{})
	long := strings.Repeat("x", maxSpec)
	for _, c := range []struct {
		request, body string
		status        int
		says          string
	}{
		{"POST " + s + "/x/input", `{"text":"hi"}`, 200, ""},
		{"POST " + s + "/x/input", `{"txt":"hi"}`, 400, `unknown key "txt"; did you mean "text"?`},
		{"POST " + s + "/x/input", `{"Text":"hi"}`, 400, `unknown key "Text"; did you mean "text"?`},
		{"POST " + s + "/x/input", `{"text":"hi","text":"ho"}`, 400, `key "text" is given twice`},
		{"POST " + s + "/x/input", `{"text":"hi"} {}`, 400, "not JSON"},
		{"POST " + s + "/x/input", `{"text":"hi"`, 400, "not JSON"},
		{"POST " + s + "/x/input", ``, 400, "the body is empty"},
		{"POST " + s + "/x/input", `["text"]`, 400, "not a JSON object"},
		{"POST " + s + "/x/input", `null`, 400, "not a JSON object"},
		{"POST " + s + "/x/input", strings.Repeat("[", 100_000), 400, "not JSON"},
		{"POST " + s + "/x/input", `{"text":1}`, 400, "text: want a string, got number"},
		{"POST " + s + "/x/input", `{"text":"hi","source_raw":"%"}`, 400, "base64"},
		{"POST " + s + "/x/input", `{"text":" \n"}`, 400, "text is blank"},
		{"POST " + s + "/x/input", `{"text":"` + long + `x"}`, 413, "text is larger than 1024 KiB"},
		{"POST " + s + "/x/pause", ``, 204, ""},
		{"POST " + s + "/x/pause", `{}`, 204, ""},
		{"POST " + s + "/x/pause", `{"cold":false}`, 204, ""},
		{"POST " + s + "/x/pause", `{"cold":true}`, 501, "cold pause"},
		{"POST " + s + "/x/pause", `{"colt":true}`, 400, `did you mean "cold"?`},
		{"POST " + s + "/x/resume", `{"a":1}`, 400, `unknown key "a"; there are none here`},
		{"POST " + s + "/x/cancel", `{"run":"r"}`, 400, `unknown key "run"; did you mean "run_id"?`},
		{"POST " + s + "/x/hitl/h", `{}`, 400, "outcome is missing"},
		{"POST " + s + "/x/hitl/h", `{"outcome":"HITL_OUTCOME_EXPIRED"}`, 400, "unknown"},
		{"POST " + s + "/x/hitl/h", `{"outcome":"HITL_OUTCOME_APPROVE","content":{"any":{"thing":[1]}}}`, 204, ""},
		{"POST " + s + "/x/hitl/h", `{"outcome":"HITL_OUTCOME_APPROVE","content":{"a":{"b":1,"b":2}}}`, 400, `key "content.a.b" is given twice`},
		{"POST " + s + "/x/hitl/h", `{"outcome":"HITL_OUTCOME_APPROVE","source":"phone"}`, 400, "source"},
		{"PATCH " + s + "/x", `{}`, 400, "nothing to change"},
		{"PATCH " + s + "/x", `{"resume_on_topof":true}`, 400, `did you mean "resume_on_topoff"?`},
		{"PATCH " + s + "/x", `{"manifest_yaml":"a"}`, 501, "not supported yet"},
		{"POST " + s + "/x/sandbox/exec", `{"argv":[]}`, 400, "argv is empty"},
		{"POST " + s + "/x/sandbox/exec", `{"argv":["a"],"timeout_seconds":86401}`, 400, "timeout_seconds"},
		{"POST " + s + "/x/sandbox/exec", `{"argv":["a"],"user":"toor"}`, 400, `did you mean "root"?`},
		{"POST " + s + "/x/sandbox/exec", `{"argv":["a"],"env":{"ANY":"x"},"stdin":"aGk="}`, 200, ""},
		{"POST " + s + "/x/sandbox/exec", `{"argv":["a"],"env":{"A":1}}`, 400, "env"},
		{"POST " + s, `{"name":"a"}`, 400, "config_id is missing"},
		{"POST /v2/agents/configs", `{"name":"a"}`, 400, "manifest_yaml is missing"},
		{"POST /v2/agents/configs", `{"manifest_yaml":"agent: demo"}`, 400, "name is missing"},
		{"POST /v2/agents/configs", `{"name":"a","manifest_yaml":"a: b","secrets":{}}`, 400, `unknown key "secrets"`},
		{"GET /v2/agents/configs?page_size=x", ``, 400, "page_size"},
		{"POST " + s, `{"name":"a","config_id":"x","region":"mars"}`, 400, "region_mismatch"},
		{"POST " + s, `{"name":"a","config_id":"x","workspace_id":"w"}`, 501, "workspaces"},
		{"POST " + s, `{"agent_kind":"AGENT_KIND_CUSTOM"}`, 400, "command"},
		{"POST " + s, `{"agent_kind":"AGENT_KIND_HERMES"}`, 501, "not supported yet"},
		{"POST " + s, `{"agent_kind":"AGENT_KIND_NONE","repo_hint":"r"}`, 501, "repo_hint"},
		{"POST " + s, `{"agent_kind":"AGENT_KIND_NONE","origin":{"product":"evaluation","resource_id":"x"}}`, 501, "origin"},
		{"POST " + s, `{"agent_kind":"AGENT_KIND_NONE","origin":{"produkt":"direct"}}`, 400, `unknown key "origin.produkt"; did you mean "product"?`},
		{"POST " + s + "?resume_on_topoff=true", `{"agent_kind":"AGENT_KIND_NONE"}`, 400, "YAML spec only"},
		{"POST " + s, `{"name":"` + long + `"}`, 413, "larger than 1024 KiB"},
		{"GET " + s + "?status=SESSION_STATUS_REDY", ``, 400, `did you mean "SESSION_STATUS_READY"?`},
		{"GET " + s + "?stauts=x", ``, 400, `did you mean "status"?`},
		{"GET " + s + "?name=a&name=b", ``, 400, "given twice"},
		{"GET " + s + "?name=%zz", ``, 400, "malformed"},
		{"GET " + s + "?page_size=ten", ``, 400, "page_size"},
		{"GET " + s + "?parent_session_id=x", ``, 400, "parent_session_id"},
		{"GET " + s + "/x/approvals?state=open", ``, 400, "state"},
		{"GET " + s + "/x/files/content", ``, 400, "path is missing"},
		{"GET " + s + "/x/events?wait=3s", ``, 400, "Accept: application/json"},
		{"GET " + s + "/x/events?before=e", ``, 400, "replay_only"},
	} {
		method, path, _ := strings.Cut(c.request, " ")
		got := do(t, h, method, path, c.body)
		if got.status != c.status {
			t.Errorf("%s %.80s: %d %s, want %d", c.request, c.body, got.status, got.body, c.status)
			continue
		}
		if c.says != "" && !strings.Contains(errorOf(t, got).Message, c.says) {
			t.Errorf("%s %.80s: %s, want %q", c.request, c.body, got.body, c.says)
		}
	}
}

func TestMediaTypes(t *testing.T) {
	h, path := newHandler(newStage(), Options{}), prefixes[0]+"/sessions"
	for media, status := range map[string]int{
		"application/x-yaml": 201, "application/yaml; charset=utf-8": 201, "text/yaml": 201,
		"text/plain": 415, "": 415, "application/x-www-form-urlencoded": 415,
	} {
		c := do(t, h, "POST", path, "agent: demo", "Content-Type", media)
		if c.status != status {
			t.Errorf("%q: %d %s", media, c.status, c.body)
		}
	}
	equal(t, errorOf(t, do(t, h, "POST", path+"/x/input", `{"text":"a"}`, "Content-Type", "text/plain")).ID, "unsupported_media_type")
	equal(t, do(t, h, "POST", path, strings.Repeat("#", maxSpec), "Content-Type", "text/yaml").status, 201)
	equal(t, errorOf(t, do(t, h, "POST", path, strings.Repeat("#", maxSpec+1), "Content-Type", "text/yaml")).ID, "too_large")
}

func FuzzDecodeStrict(f *testing.F) {
	f.Add([]byte(`{"argv":["a"],"env":{"A":"b"},"stdin":"aGk="}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var want gen.ExecRequest
		if err := decodeStrict(text, &want); err == nil && json.Unmarshal(text, &want) != nil {
			t.Fatalf("accepted %s", text)
		}
	})
}

func TestFaultsOnTheWire(t *testing.T) {
	for code, status := range statuses {
		w := httptest.NewRecorder()
		writeFault(w, fault.New(code, "no"))
		equal(t, w.Code, status)
		retry := w.Header().Get("Retry-After") != ""
		equal(t, retry, code == fault.Unavailable || code == fault.TooManyRequests)
	}
}
