package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"paddock/client"
)

// asked is what a server saw of a call.
type asked struct{ Line, Token, Media, Range, Body string }

// one serves a single answer and notes what was asked.
func one(t *testing.T, status int, header http.Header, body string) (*client.Client, *asked) {
	t.Helper()
	seen := &asked{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		*seen = asked{r.Method + " " + r.RequestURI, r.Header.Get("Authorization"), r.Header.Get("Content-Type"), r.Header.Get("Range"), string(text)}
		for name := range header {
			w.Header().Set(name, header.Get(name))
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	transport := &http.Transport{}
	t.Cleanup(func() { transport.CloseIdleConnections(); server.Close() })
	c, err := client.New(server.URL, "secret", client.Options{HTTP: &http.Client{Transport: transport}})
	if err != nil {
		t.Fatal(err)
	}
	return c, seen
}

func TestCallsOnTheWire(t *testing.T) {
	ctx, prefix := context.Background(), " /v2/harness-runtime/sessions"
	const json = "application/json"
	for _, c := range []struct {
		name string
		call func(c *client.Client) error
		want asked
	}{
		{"create", func(c *client.Client) error {
			_, err := c.CreateSession(ctx, []byte("agent: demo"), client.CreateOptions{ResumeOnTopoff: true})
			return err
		}, asked{Line: "POST" + prefix + "?resume_on_topoff=true", Media: "application/yaml", Body: "agent: demo"}},
		{"list", func(c *client.Client) error {
			_, err := c.Sessions(ctx, client.ListOptions{Status: client.SessionAll, Search: "a b", PageSize: 3})
			return err
		}, asked{Line: "GET" + prefix + "?page_size=3&search=a+b&status=SESSION_STATUS_ALL"}},
		{"get", func(c *client.Client) error { _, err := c.Session(ctx, "a/b?c"); return err }, asked{Line: "GET" + prefix + "/a%2Fb%3Fc"}},
		{"update", func(c *client.Client) error { _, err := c.SetResumeOnTopoff(ctx, "x", false); return err },
			asked{Line: "PATCH" + prefix + "/x", Media: json, Body: `{"resume_on_topoff":false}`}},
		{"remove", func(c *client.Client) error { return c.RemoveSession(ctx, "x") }, asked{Line: "DELETE" + prefix + "/x"}},
		{"pause", func(c *client.Client) error { _, err := c.Pause(ctx, "x"); return err }, asked{Line: "POST" + prefix + "/x/pause", Media: json, Body: `{}`}},
		{"resume", func(c *client.Client) error { return c.Resume(ctx, "x") }, asked{Line: "POST" + prefix + "/x/resume", Media: json, Body: `{}`}},
		{"input", func(c *client.Client) error { _, err := c.Input(ctx, "x", "hi"); return err },
			asked{Line: "POST" + prefix + "/x/input", Media: json, Body: `{"text":"hi"}`}},
		{"cancel", func(c *client.Client) error { _, err := c.Cancel(ctx, "x", ""); return err }, asked{Line: "POST" + prefix + "/x/cancel", Media: json, Body: `{}`}},
		{"answer", func(c *client.Client) error {
			return c.Answer(ctx, "x", "hitl_1", client.AnswerRequest{Outcome: client.OutcomeApprove})
		}, asked{Line: "POST" + prefix + "/x/hitl/hitl_1", Media: json, Body: `{"outcome":"HITL_OUTCOME_APPROVE"}`}},
		{"team approvals", func(c *client.Client) error { _, err := c.TeamApprovals(ctx, true, 5, "p"); return err }, asked{Line: "GET /v2/harness-runtime/approvals?page_size=5&page_token=p&state=all"}},
		{"environments", func(c *client.Client) error { _, err := c.Environments(ctx, 5, "p"); return err }, asked{Line: "GET /v2/harness-runtime/configs?page_size=5&page_token=p"}},
		{"environment", func(c *client.Client) error { _, err := c.Environment(ctx, "e"); return err }, asked{Line: "GET /v2/harness-runtime/configs/e"}},
		{"remove an environment", func(c *client.Client) error { return c.RemoveEnvironment(ctx, "e") }, asked{Line: "DELETE /v2/harness-runtime/configs/e"}},
		{"store an environment", func(c *client.Client) error { _, err := c.CreateEnvironment(ctx, "e", []byte("a: b")); return err },
			asked{Line: "POST /v2/harness-runtime/configs", Media: json, Body: `{"manifest_yaml":"a: b","name":"e"}`}},
		{"a session of an environment", func(c *client.Client) error {
			_, err := c.CreateSessionFrom(ctx, "e", "n", client.CreateOptions{ResumeOnTopoff: true})
			return err
		}, asked{Line: "POST" + prefix, Media: json, Body: `{"config_id":"e","name":"n","resume_on_topoff":true}`}},
		{"sessions of an environment", func(c *client.Client) error {
			_, err := c.Sessions(ctx, client.ListOptions{Environment: "e", Status: "x"})
			return err
		}, asked{Line: "GET /v2/harness-runtime/configs/e/sessions?status=x"}},
		{"grants", func(c *client.Client) error { _, err := c.Grants(ctx, "x"); return err }, asked{Line: "GET" + prefix + "/x/grants"}},
		{"revoke a grant", func(c *client.Client) error { return c.RevokeGrant(ctx, "x", "g") }, asked{Line: "DELETE" + prefix + "/x/grants/g"}},
		{"approvals", func(c *client.Client) error { _, err := c.Approvals(ctx, "x", false); return err }, asked{Line: "GET" + prefix + "/x/approvals?state=pending"}},
		{"runs", func(c *client.Client) error { _, err := c.Runs(ctx, "x", 0, "t"); return err }, asked{Line: "GET" + prefix + "/x/runs?page_token=t"}},
		{"run", func(c *client.Client) error { _, err := c.Run(ctx, "x", "r"); return err }, asked{Line: "GET" + prefix + "/x/runs/r"}},
		{"exec", func(c *client.Client) error {
			_, err := c.Exec(ctx, "x", client.ExecRequest{Argv: []string{"ls"}, Stdin: []byte("a")})
			return err
		}, asked{Line: "POST" + prefix + "/x/sandbox/exec", Media: json, Body: `{"argv":["ls"],"stdin":"YQ=="}`}},
		{"diff", func(c *client.Client) error { _, err := c.Diff(ctx, "x", true); return err }, asked{Line: "GET" + prefix + "/x/diff?patch=true"}},
		{"files", func(c *client.Client) error { _, err := c.ListFiles(ctx, "x", ""); return err }, asked{Line: "GET" + prefix + "/x/files"}},
		{"agents", func(c *client.Client) error { _, err := c.Agents(ctx); return err }, asked{Line: "GET /v2/harness-runtime/agents"}},
		{"remove an agent", func(c *client.Client) error { return c.RemoveAgent(ctx, "codex", "1.2") }, asked{Line: "DELETE /v2/harness-runtime/agents/codex/versions/1.2"}},
		{"sizes", func(c *client.Client) error { _, err := c.Sizes(ctx); return err }, asked{Line: "GET" + prefix + "/sandbox/sizes"}},
		{"health", func(c *client.Client) error { _, err := c.Health(ctx); return err }, asked{Line: "GET /healthz"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			client, seen := one(t, 200, nil, `{}`)
			if err := c.call(client); err != nil {
				t.Fatal(err)
			}
			c.want.Token = "Bearer secret"
			if diff := cmp.Diff(c.want, *seen); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReadFileRanges(t *testing.T) {
	for want, args := range map[string][2]int64{"": {0, -1}, "bytes=5-": {5, -1}, "bytes=5-6": {5, 2}} {
		c, seen := one(t, 200, nil, "text")
		content, err := c.ReadFile(context.Background(), "x", "a b", args[0], args[1])
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(content)
		content.Close()
		if err != nil || string(text) != "text" || seen.Range != want || seen.Line != "GET /v2/harness-runtime/sessions/x/files/content?path=a+b" {
			t.Errorf("%v: %q %+v %v", args, text, *seen, err)
		}
	}
}

func TestExecBytes(t *testing.T) {
	c, _ := one(t, 200, http.Header{"X-Exec-Stdout-Truncated": {"true"}}, `{"exit_code":7,"stdout":"\ufffd","stdout_base64":"/w==","stderr":"e"}`)
	got, err := c.Exec(context.Background(), "x", client.ExecRequest{Argv: []string{"a"}})
	if err != nil {
		t.Fatal(err)
	}
	if got.ExitCode != 7 || string(got.StdoutBytes()) != "\xff" || string(got.StderrBytes()) != "e" || !got.StdoutTruncated || got.StderrTruncated {
		t.Errorf("%+v", got)
	}
}

func TestErrors(t *testing.T) {
	ours := `{"id":"unavailable","message":"starting","request_id":"req_1","error":{"code":503,"message":"starting"}}`
	for body, want := range map[string]client.Error{
		ours: {Status: 503, Code: "unavailable", Message: "starting", RequestID: "req_1", RetryAfter: 2 * time.Second},
		"<html>": {
			Status: 503, Code: "unknown", RequestID: "req_1", RetryAfter: 2 * time.Second,
			Message: "the server answered 503 Service Unavailable, which is not an answer of Paddock; is the address right?",
		},
	} {
		c, _ := one(t, 503, http.Header{"X-Request-Id": {"req_1"}, "Retry-After": {"2"}}, body)
		_, err := c.Session(context.Background(), "x")
		var got *client.Error
		if !errors.As(err, &got) {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, *got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestBadAddresses(t *testing.T) {
	for _, address := range []string{"", "localhost:7723", "ftp://x", "http://", "%"} {
		if _, err := client.New(address, "", client.Options{}); err == nil {
			t.Errorf("%q was accepted", address)
		}
	}
}

// A name that would make the path another one never reaches the server.
func TestNamesThatAreNone(t *testing.T) {
	ctx := context.Background()
	for _, name := range []string{"", ".", ".."} {
		for what, do := range map[string]func(c *client.Client) error{
			"session": func(c *client.Client) error { _, err := c.Session(ctx, name); return err },
			"remove":  func(c *client.Client) error { return c.RemoveSession(ctx, name) },
			"run":     func(c *client.Client) error { _, err := c.Run(ctx, "x", name); return err },
			"events": func(c *client.Client) error {
				_, err := c.Events(ctx, name, client.EventsOptions{})
				return err
			},
		} {
			c, seen := one(t, http.StatusOK, nil, `{}`)
			if err := do(c); !client.IsCode(err, "not_found") || seen.Line != "" {
				t.Errorf("%s %q: %v; the server saw %q", what, name, err, seen.Line)
			}
		}
	}
}
