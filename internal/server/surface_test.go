package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"paddock/internal/agents/installed"
	"paddock/internal/approval"
	"paddock/internal/engine"
	"paddock/internal/environment"
	"paddock/internal/event"
	"paddock/internal/fault"
	"paddock/internal/guestapi"
	"paddock/internal/id"
	"paddock/internal/policy"
	"paddock/internal/sandbox"
	"paddock/internal/session"
	"paddock/internal/store"
	"paddock/internal/team"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const goodToken = "good"

var (
	someTime     = time.Date(2026, 11, 30, 12, 0, 0, 123, time.UTC)
	someSession  = id.New[id.Session]()
	someRun      = id.New[id.Run]()
	someApproval = id.New[id.Approval]()
)

// stage plays the engine: it notes what it was asked and answers as told.
type stage struct {
	view     engine.View
	warnings []string
	pending  bool
	run      session.Run
	approval approval.Approval
	grant    approval.Grant
	result   engine.ExecResult
	file     string
	history  *story

	environment environment.Environment
	template    engine.TemplateView

	missing string // the name of a thing that is not there
	err     error  // of every call but Authenticate

	mu     sync.Mutex // guards what was asked: some tests ask many things at once
	create engine.CreateRequest
	asked  engine.EnvironmentRequest
	wanted engine.TemplateRequest
	sent   string // as an image
	list   engine.ListRequest
	input  engine.Input
	answer engine.Answer
	exec   engine.ExecRequest
	ref    string
}

func newStage() *stage {
	return &stage{
		view: engine.View{
			Session: session.Session{
				ID: someSession, Name: "demo-quiet-otter", Adapter: "demo", State: session.Ready, CreatedAt: someTime,
				Environment: id.New[id.Environment](), Sandbox: id.New[id.Sandbox](), Memory: "kept",
			},
			Run: &session.Run{ID: someRun, State: session.RunRunning},
		},
		warnings: []string{"no network yet"},
		run: session.Run{
			ID: someRun, Session: someSession, Text: "hi", State: session.RunFailed, CreatedAt: someTime, StartedAt: someTime, EndedAt: someTime,
			Failure: &session.Failure{Code: event.ToolError, Message: "it broke", Terminal: true},
		},
		approval: approval.Approval{
			ID: someApproval, Session: someSession, Run: someRun, State: approval.Pending, At: someTime, Deadline: someTime,
			Asked: event.Asked{Action: event.ActionBash, Details: event.AskDetails{Tool: "shell", Command: "make"}, Payload: json.RawMessage(`{"a":1}`)},
		},
		grant: approval.Grant{
			ID: id.New[id.Grant](), Session: someSession, Approval: someApproval, Actor: "laptop", At: someTime,
			Match: approval.Match{Action: event.ActionBash, Tool: "shell", Kind: "execute", Input: json.RawMessage(`{"command":"make"}`)},
		},
		result:  engine.ExecResult{Code: 3, Stdout: []byte("out"), Stderr: []byte{'e', 0xff}, StdoutTruncated: true, Duration: 1500 * time.Millisecond},
		file:    "0123456789",
		history: newHistory(5),
		environment: environment.Environment{
			ID: id.New[id.Environment](), Name: "review-bot", Source: "agent: demo\nenv: {A: b}\n", ContentHash: "abc", CreatedBy: "laptop", CreatedAt: someTime,
		},
		template: engine.TemplateView{
			Template: store.Template{
				ID: id.New[id.Template](), Name: "tools", Source: "registry.example.com:5000/team/tools:2026", Base: "coding-base", State: store.TemplateReady,
				Digest: "sha256:abc", CreatedBy: "laptop", CreatedAt: someTime, UpdatedAt: someTime,
			},
			Image: sandbox.Image{Digest: "sha256:abc", Bytes: 12, Entries: 3, Env: map[string]string{"A": "b"}, Warnings: []string{"one is lost"}},
		},
	}
}

func (s *stage) Authenticate(_ context.Context, token string) (team.Token, error) {
	if token != goodToken {
		return team.Token{}, fault.New(fault.Unauthorized, "the token is not known")
	}
	return team.Token{Name: "laptop"}, nil
}

func (s *stage) Ready(context.Context) error { return s.err }

func (s *stage) ValidatePolicy(text []byte) (environment.Spec, policy.Assessment, error) {
	spec, _, err := environment.Parse(text, session.CheckName)
	if err != nil {
		err = fault.New(fault.BadRequest, "%s", err)
	}
	return spec, policy.Assessment{Fidelity: policy.Exact}, err
}

func (s *stage) Missing(_ context.Context, _ id.Team, _, kind, name string) error {
	if s.missing == name {
		return fault.New(fault.NotFound, "there is no %s %q", kind, name)
	}
	return nil
}

func (s *stage) Unserved(_ context.Context, _ id.Team, ref, what string, _ bool) error {
	s.mu.Lock()
	s.ref = ref
	s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	return fault.New(fault.NotSupported, "%s is not supported yet", what)
}

func (s *stage) CreateSession(_ context.Context, _ id.Team, req engine.CreateRequest) (engine.View, []string, error) {
	s.mu.Lock()
	s.create = req
	s.mu.Unlock()
	return s.view, s.warnings, s.err
}

func (s *stage) Session(_ context.Context, _ id.Team, ref string) (engine.View, error) {
	s.mu.Lock()
	s.ref = ref
	s.mu.Unlock()
	return s.view, s.err
}

func (s *stage) Sessions(_ context.Context, _ id.Team, req engine.ListRequest) ([]engine.View, string, error) {
	s.mu.Lock()
	s.list = req
	s.mu.Unlock()
	return []engine.View{s.view}, "next", s.err
}

func (s *stage) CreateEnvironment(_ context.Context, _ id.Team, req engine.EnvironmentRequest) (engine.CreatedEnvironment, error) {
	s.mu.Lock()
	s.asked = req
	s.mu.Unlock()
	return engine.CreatedEnvironment{Environment: s.environment, Warnings: s.warnings}, s.err
}

func (s *stage) Environment(_ context.Context, _ id.Team, ref string) (environment.Environment, error) {
	s.mu.Lock()
	s.ref = ref
	s.mu.Unlock()
	return s.environment, s.err
}

func (s *stage) Environments(context.Context, id.Team, int, string) ([]environment.Environment, string, error) {
	return []environment.Environment{s.environment}, "next", s.err
}

func (s *stage) Agents(context.Context) (string, []engine.AgentInstallation, error) {
	one := engine.AgentInstallation{Agent: installed.Agent{Name: "codex", Version: "1.2.3", Current: true}, Sessions: 2}
	return "/a", []engine.AgentInstallation{one}, s.err
}
func (s *stage) RemoveAgent(context.Context, string, string) error { return s.err }

func (s *stage) CreateTemplate(_ context.Context, _ id.Team, req engine.TemplateRequest) (engine.TemplateView, error) {
	s.mu.Lock()
	s.wanted = req
	s.mu.Unlock()
	return s.template, s.err
}

func (s *stage) ImportTemplate(_ context.Context, _ id.Team, req engine.TemplateRequest, archive io.Reader) (engine.TemplateView, error) {
	text, err := io.ReadAll(archive)
	s.mu.Lock()
	s.wanted, s.sent = req, string(text)
	s.mu.Unlock()
	return s.template, errors.Join(err, s.err)
}

func (s *stage) Template(_ context.Context, _ id.Team, ref string) (engine.TemplateView, error) {
	s.mu.Lock()
	s.ref = ref
	s.mu.Unlock()
	return s.template, s.err
}

func (s *stage) Templates(context.Context, id.Team, int, string) ([]engine.TemplateView, string, error) {
	return []engine.TemplateView{s.template}, "next", s.err
}

func (s *stage) UpdateTemplate(_ context.Context, _ id.Team, ref string, req engine.TemplateRequest) (engine.TemplateView, error) {
	s.mu.Lock()
	s.ref, s.wanted = ref, req
	s.mu.Unlock()
	return s.template, s.err
}

func (s *stage) RemoveTemplate(context.Context, id.Team, string) (id.Template, error) {
	return s.template.ID, s.err
}

func (s *stage) RemoveEnvironment(context.Context, id.Team, string) error { return s.err }

func (s *stage) RemoveSession(context.Context, id.Team, string) error { return s.err }

func (s *stage) SetResumeOnTopoff(_ context.Context, _ id.Team, _ string, on bool) (engine.View, error) {
	view := s.view
	view.ResumeOnTopoff = on
	return view, s.err
}

func (s *stage) Pause(context.Context, id.Team, string) (bool, error) { return s.pending, s.err }
func (s *stage) Resume(context.Context, id.Team, string) error        { return s.err }

func (s *stage) Input(_ context.Context, _ id.Team, _ string, in engine.Input) (id.Run, error) {
	s.mu.Lock()
	s.input = in
	s.mu.Unlock()
	return someRun, s.err
}

func (s *stage) Cancel(context.Context, id.Team, string, string, string) (engine.CancelResult, error) {
	return engine.CancelResult{Session: someSession, Run: someRun, Outcome: guestapi.CancelAcked}, s.err
}

func (s *stage) Answer(_ context.Context, _ id.Team, _, _ string, answer engine.Answer) error {
	s.mu.Lock()
	s.answer = answer
	s.mu.Unlock()
	return s.err
}

func (s *stage) Runs(context.Context, id.Team, string, int, string) ([]session.Run, string, error) {
	return []session.Run{s.run}, "", s.err
}

func (s *stage) Run(context.Context, id.Team, string, string) (session.Run, error) {
	return s.run, s.err
}

func (s *stage) Approvals(context.Context, id.Team, string, bool) ([]approval.Approval, error) {
	return []approval.Approval{s.approval}, s.err
}

func (s *stage) TeamApprovals(context.Context, id.Team, bool, int, string) ([]engine.TeamApproval, string, error) {
	return []engine.TeamApproval{{Approval: s.approval, SessionName: s.view.Name}}, "next", s.err
}

func (s *stage) Grants(context.Context, id.Team, string) ([]approval.Grant, error) {
	return []approval.Grant{s.grant}, s.err
}

func (s *stage) RevokeGrant(context.Context, id.Team, string, string, string) error { return s.err }

func (s *stage) Exec(_ context.Context, _ id.Team, _ string, req engine.ExecRequest) (engine.ExecResult, error) {
	s.mu.Lock()
	s.exec = req
	s.mu.Unlock()
	return s.result, s.err
}

func (s *stage) SandboxStats(context.Context, id.Team, int, string) ([]engine.SandboxStats, string, error) {
	return []engine.SandboxStats{{
		View: s.view, ReadAt: someTime, CPU: 1500 * time.Millisecond, Memory: 1 << 20, Limit: 1 << 30, Disk: 4096,
		Calling: &engine.ToolCall{ID: "t", Name: "bash", Summary: "make", At: someTime},
	}}, "next", s.err
}

func (s *stage) Diff(context.Context, id.Team, string, bool) ([]engine.RepoDiff, error) {
	return []engine.RepoDiff{{
		Path: "a", URL: "https://example.com/a", Base: "1234", Patch: []byte("\xff"), Truncated: true, Problem: "none",
		Files: []engine.FileDiff{{Path: "b", From: "a", Status: "renamed", Added: 1, Removed: 2, Binary: true}},
	}}, s.err
}

func (s *stage) ListFiles(context.Context, id.Team, string, string) ([]guestapi.File, error) {
	return []guestapi.File{{Name: "a", Path: "a", Type: "file", Size: 1, Mode: 0o644, ModTime: someTime}}, s.err
}

func (s *stage) ReadFile(_ context.Context, _ id.Team, _, _ string, offset, length int64) (guestapi.File, io.ReadCloser, error) {
	if s.err != nil {
		return guestapi.File{}, nil, s.err
	}
	from := min(offset, int64(len(s.file)))
	part := s.file[from:]
	if length >= 0 {
		part = part[:min(length, int64(len(part)))]
	}
	return guestapi.File{Size: int64(len(s.file)), ModTime: someTime}, io.NopCloser(bytes.NewBufferString(part)), nil
}

func (s *stage) TeamFeed(context.Context, id.Team) (feed, error) { return s.history, s.err }

func (s *stage) Feed(context.Context, id.Team, string) (feed, error) {
	if s.err != nil {
		return nil, s.err
	}
	return s.history, nil
}

// story is a short history to which nothing comes.
type story struct{ events []event.Event }

func newHistory(n int) *story {
	h := &story{}
	for i := range n {
		at := someTime.Add(time.Duration(i))
		h.events = append(h.events, event.Event{
			ID: id.NewEvent(at, int64(i+1), 0), Session: someSession, Run: someRun, Seq: int64(i + 1), At: at,
			Kind: event.TokenDelta, Data: json.RawMessage(`{"text":"x"}`),
		})
	}
	return h
}

func (h *story) Close()                    {}
func (h *story) Name() string              { return "story" }
func (h *story) Session() id.Session       { return someSession }
func (h *story) Place(e event.Event) int64 { return e.Seq }
func (h *story) Last() int64               { return int64(len(h.events)) }
func (h *story) Ended() bool               { return false }

func (h *story) Recent(context.Context) (int64, error)                       { return 0, nil }
func (h *story) Waiting(context.Context, int64, bool) ([]event.Event, error) { return nil, nil }
func (h *story) Changed(int64) <-chan struct{}                               { return nil }

func (h *story) Read(_ context.Context, page store.EventPage) ([]event.Event, int64, error) {
	events := h.events[min(page.After, h.Last()):]
	if page.Before > 0 {
		events = h.events[max(0, page.Before-1-int64(page.Limit)) : page.Before-1]
	}
	return events, h.Last(), nil
}

func (h *story) Find(_ context.Context, cursor string) (int64, bool, error) {
	for _, e := range h.events {
		if e.ID.String() == cursor {
			return e.Seq, true, nil
		}
	}
	return 0, false, nil
}

// call is one request to an edge, and what came of it.
type call struct {
	status int
	header http.Header
	body   string
}

// do makes a request with a good token; headers are name, value pairs.
func do(t *testing.T, h http.Handler, method, path, body string, headers ...string) call {
	t.Helper()
	r := httptest.NewRequest(method, path, bytes.NewBufferString(body))
	r.Header.Set("Authorization", "Bearer "+goodToken)
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return call{w.Code, w.Header(), w.Body.String()}
}
