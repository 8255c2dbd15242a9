package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"paddock/client"
)

// playedAPI answers like a server with a handful of sessions whose agent acts
// on keywords. It checks what the command line sends, nothing else.
type playedAPI struct {
	mux *http.ServeMux

	mu       sync.Mutex
	spec     string                           // of the last create
	sessions map[string]client.Session        // by name and by id
	asked    map[string]int                   // GETs of a session
	readers  map[string]chan client.Event     // open streams, by session id
	answers  map[string]client.AnswerRequest  // by approval id
	pending  map[string][]client.Approval     // by session id
	answered map[string]func(outcome string)  // what goes on after an answer
	runs     map[string]map[string]client.Run // by session id and run id
	events   map[string][]client.Event        // history, by session id
	removed  map[string]bool
	grants   []client.Grant
}

const base = "/v2/harness-runtime/sessions"

// fiveMinutesAgo is when all that is played happened. It is asked for when a
// server is made: a script has 50 s until "5m" is wrong.
func fiveMinutesAgo() time.Time { return time.Now().Add(-5*time.Minute - 10*time.Second) }

func sid(n int) string { return fmt.Sprintf("sess_0000000000000000000000000%d", n) }
func rid(n int) string { return fmt.Sprintf("run_0000000000000000000000000%d", n) }
func hid(n int) string { return fmt.Sprintf("hitl_0000000000000000000000000%d", n) }

func newPlayedAPI() *playedAPI {
	p := &playedAPI{
		mux: http.NewServeMux(), sessions: map[string]client.Session{}, asked: map[string]int{},
		readers: map[string]chan client.Event{}, answers: map[string]client.AnswerRequest{},
		pending: map[string][]client.Approval{}, answered: map[string]func(string){},
		runs: map[string]map[string]client.Run{}, events: map[string][]client.Event{}, removed: map[string]bool{},
	}
	p.put(client.Session{SessionID: sid(1), Name: "hello", Status: client.SessionReady, SandboxID: "sbx_1", Memory: "kept"})
	p.put(client.Session{SessionID: sid(2), Name: "nap", Status: client.SessionPaused, PauseReason: "idle"})
	p.put(client.Session{SessionID: sid(3), Name: "busy", Status: client.SessionReady, Run: &client.ActiveRun{RunID: rid(9), State: client.RunAwaiting}})
	p.put(client.Session{SessionID: sid(4), Name: "lost", Status: client.SessionFailed, Message: "its machine was killed"})
	p.pending[sid(3)] = []client.Approval{
		{RequestID: hid(1), SessionID: sid(3), RunID: rid(9), Details: client.ApprovalDetails{Command: "ls"}},
		{RequestID: hid(2), SessionID: sid(3), RunID: rid(9), Details: client.ApprovalDetails{Question: "Which colour?"}},
	}
	for i := range p.pending[sid(3)] {
		one := &p.pending[sid(3)][i]
		one.State, one.SessionName, one.RequestedAt, one.Deadline = "pending", "busy", fiveMinutesAgo(), fiveMinutesAgo().Add(time.Hour)
	}
	p.runs[sid(1)] = map[string]client.Run{rid(1): {
		RunID: rid(1), SessionID: sid(1), State: client.RunCompleted, Text: "say  hi", CreatedAt: fiveMinutesAgo(),
		StartedAt: fiveMinutesAgo(), EndedAt: fiveMinutesAgo().Add(1500 * time.Millisecond), TotalTokensIn: 3, TotalTokensOut: 4, StopReason: "end_turn",
	}}
	for pattern, handler := range map[string]http.HandlerFunc{
		"POST " + base: p.create, "GET " + base: p.list,
		"GET " + base + "/{s}": p.get, "DELETE " + base + "/{s}": p.remove,
		"POST " + base + "/{s}/pause": p.pause, "POST " + base + "/{s}/resume": p.resume,
		"POST " + base + "/{s}/input": p.input, "POST " + base + "/{s}/cancel": p.cancel,
		"GET " + base + "/{s}/approvals": p.approvals, "POST " + base + "/{s}/hitl/{h}": p.answer,
		"GET " + strings.TrimSuffix(base, "/sessions") + "/approvals": p.teamApprovals,
		"GET " + base + "/{s}/grants":                                 p.listGrants, "DELETE " + base + "/{s}/grants/{g}": p.revokeGrant,
		"GET " + base + "/{s}/runs": p.listRuns, "GET " + base + "/{s}/runs/{r}": p.getRun,
		"GET " + base + "/{s}/events": p.stream, "GET " + strings.TrimSuffix(base, "/sessions") + "/events": p.teamStream, "POST " + base + "/{s}/sandbox/exec": p.exec,
		"GET " + base + "/sandbox/sizes": sizes, "GET " + base + "/sandbox/stats": p.stats,
		"GET " + base + "/{s}/files": p.files, "GET " + base + "/{s}/files/content": p.content, "GET " + base + "/{s}/diff": diff,

		"POST " + base + "/policy/validate": validatePolicy,
	} {
		p.mux.HandleFunc(pattern, handler)
	}
	return p
}

func (p *playedAPI) put(s client.Session) {
	s.AgentKind, s.CreatedAt, s.AcceptsInput = "AGENT_KIND_CUSTOM", fiveMinutesAgo(), true
	s.Adapter = first(s.Adapter, "demo")
	p.sessions[s.SessionID], p.sessions[s.Name] = s, s
}

// ServeHTTP lets in who has the token.
func (p *playedAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/healthz" {
		give(w, client.Health{Status: "ok", Version: "v0.0.0-played"})
		return
	}
	if r.Header.Get("Authorization") != "Bearer secret" {
		refuse(w, 401, "unauthorized", "this token is not known")
		return
	}
	p.mux.ServeHTTP(w, r)
}

func refuse(w http.ResponseWriter, status int, id, message string) {
	w.WriteHeader(status)
	give(w, map[string]any{"id": id, "message": message, "request_id": "req_1", "error": map[string]any{"code": status, "message": message}})
}

func give(w io.Writer, v any) {
	if err := json.NewEncoder(w).Encode(v); err != nil {
		panic(err)
	}
}

// session finds the one that a request names, or refuses.
func (p *playedAPI) session(w http.ResponseWriter, r *http.Request) (client.Session, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, ok := p.sessions[r.PathValue("s")]
	if !ok {
		refuse(w, 404, "not_found", "there is no session "+r.PathValue("s"))
	}
	return s, ok
}

func (p *playedAPI) create(w http.ResponseWriter, r *http.Request) {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		panic(err)
	}
	p.spec = string(b)
	switch {
	case strings.Contains(p.spec, "name: full"):
		refuse(w, 409, "conflict", "team is at the limit of 50 active sessions")
	case strings.Contains(p.spec, "name: poor"):
		refuse(w, 402, "payment_required", "the balance is used up")
	case strings.Contains(p.spec, "name: wrong"):
		refuse(w, 400, "bad_request", "line 1: name: will not do\nline 2: permissions.default: wants allow\nline 9: env.1A: is no name\ncommand: is missing")
	default:
		s := client.Session{SessionID: sid(5), Name: "fresh", Status: client.SessionProvisioning}
		if strings.Contains(p.spec, "name: doomed") {
			s.Name = "doomed"
		}
		p.mu.Lock()
		p.put(s)
		s = p.sessions[s.Name]
		p.mu.Unlock()
		s.Warnings = []string{"no network yet"}
		if _, rest, ok := strings.Cut(p.spec, `"config_id":"`); ok {
			config, _, _ := strings.Cut(rest, `"`)
			s.Warnings = []string{"made from " + config}
		}
		give(w, map[string]any{"session": s, "spec": p.spec})
	}
}

// get answers; a session being made is up, or has failed, at the second look.
func (p *playedAPI) get(w http.ResponseWriter, r *http.Request) {
	s, ok := p.session(w, r)
	if !ok {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked[s.SessionID]++; s.Status == client.SessionProvisioning && p.asked[s.SessionID] > 1 {
		s.Status = client.SessionReady
		if s.Name == "doomed" {
			s.Status, s.Message = client.SessionFailed, "no room on the host"
		}
		p.put(s)
	}
	if p.removed[s.SessionID] {
		s.Status = client.SessionDestroyed
	}
	give(w, map[string]any{"session": s})
}

// list gives two pages.
func (p *playedAPI) list(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.FormValue("status") == client.SessionDestroyed:
		give(w, client.SessionList{})
	case r.FormValue("page_token") == "":
		give(w, client.SessionList{Sessions: []client.Session{p.sessions["busy"], p.sessions["nap"]}, NextPageToken: "2"})
	default:
		give(w, client.SessionList{Sessions: []client.Session{p.sessions["hello"]}})
	}
}

func (p *playedAPI) remove(w http.ResponseWriter, r *http.Request) {
	if s, ok := p.session(w, r); ok {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.removed[s.SessionID] = true
		w.WriteHeader(204)
	}
}

func (p *playedAPI) pause(w http.ResponseWriter, r *http.Request) {
	switch s, ok := p.session(w, r); {
	case !ok:
	case s.Run != nil:
		w.WriteHeader(202)
		give(w, map[string]bool{"pending": true})
	default:
		w.WriteHeader(204)
	}
}

func (p *playedAPI) resume(w http.ResponseWriter, r *http.Request) {
	switch s, ok := p.session(w, r); {
	case !ok:
	case s.Status != client.SessionPaused:
		refuse(w, 409, "conflict", s.Name+" is not paused")
	default:
		w.WriteHeader(204)
	}
}

func (p *playedAPI) exec(w http.ResponseWriter, r *http.Request) {
	if _, ok := p.session(w, r); !ok {
		return
	}
	var q client.ExecRequest
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		panic(err)
	}
	result := client.ExecResult{Stdout: strings.Join(q.Argv, "|") + "\n"}
	switch q.Argv[0] {
	case "fail":
		result = client.ExecResult{ExitCode: 7, Stderr: "went wrong\n"}
	case "sleep":
		result = client.ExecResult{ExitCode: 137, TimedOut: true, DurationMS: 2000}
	case "cat":
		result.Stdout = string(q.Stdin)
	case "how":
		result.Stdout = fmt.Sprintln(q.Workdir, q.User, q.Env, q.TimeoutSeconds)
	case "much":
		w.Header().Set("X-Exec-Stdout-Truncated", "true")
	}
	give(w, result)
}

func (p *playedAPI) files(w http.ResponseWriter, r *http.Request) {
	if r.FormValue("path") == "none" {
		give(w, map[string]any{"path": "none", "files": []any{}})
		return
	}
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	give(w, map[string]any{"path": r.FormValue("path"), "files": []client.File{
		{Name: "a.txt", Path: "a.txt", Type: "file", Size: 12, Mode: "0644", ModTime: at},
		{Name: "link", Path: "link", Type: "symlink", Size: 5, Mode: "0777", ModTime: at, Target: "a.txt"},
		{Name: "src", Path: "src", Type: "dir", Size: 4096, Mode: "0755", ModTime: at},
	}})
}

func sizes(w http.ResponseWriter, _ *http.Request) {
	give(w, map[string]any{"sizes": []client.Size{{Slug: "small", VCPUs: 1, MemoryMB: 2048}}})
}

func (p *playedAPI) content(w http.ResponseWriter, r *http.Request) {
	switch r.FormValue("path") {
	case "bytes":
		_, _ = w.Write([]byte{0xff, 0xfe})
	case "a.txt":
		_, _ = io.WriteString(w, "hello there\n")
	default:
		refuse(w, 404, "not_found", "there is no file "+r.FormValue("path"))
	}
}

// validatePolicy gives the verdicts of a policy that is kept but for a strict
// rule, if the spec has one.
func validatePolicy(w http.ResponseWriter, r *http.Request) {
	text, _ := io.ReadAll(r.Body)
	strict := strings.Contains(string(text), "strict")
	v := client.PolicyValidation{Agent: "demo", OK: !strict, DefaultAction: "ask", DefaultActionVerdict: "degraded", DefaultActionReason: "reads files",
		Filesystem: client.FilesystemVerdict{Mode: "workspace", AllowWrite: []string{"/srv/a"}, Verdict: "exact"}}
	if strict {
		v.Verdicts = []client.PolicyVerdict{{
			Rule:    client.PolicyRule{ID: "permissions.rules[0]", Tool: "bash", Match: map[string]string{"command": "rm *"}, Action: "deny", Enforcement: "strict"},
			Verdict: "unverified", Rendered: "deny", Reason: "who knows",
		}}
	}
	give(w, v)
}
