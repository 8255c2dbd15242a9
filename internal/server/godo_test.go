package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/digitalocean/godo"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"paddock/internal/approval"
	"paddock/internal/engine"
	"paddock/internal/fault"
	"paddock/internal/id"
	"paddock/internal/server/gen"
	"paddock/internal/session"
)

func drain(t *testing.T, response *http.Response) []byte {
	t.Helper()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	response.Body = io.NopCloser(bytes.NewReader(text))
	return text
}

// bearer adds the token, as an OAuth transport does.
type bearer struct{ next http.RoundTripper }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+goodToken)
	return b.next.RoundTrip(r)
}

// public serves a stage and gives the public client of it; every answer is
// checked against openapi.yaml.
func public(t *testing.T, s *stage) (*godo.Client, *checked) {
	t.Helper()
	server := httptest.NewServer(newHandler(s, Options{Version: "test"}))
	t.Cleanup(server.Close)
	check := newChecked(t, server.Client().Transport)
	client, err := godo.New(&http.Client{Transport: bearer{check}}, godo.SetBaseURL(server.URL))
	if err != nil {
		t.Fatal(err)
	}
	return client, check
}

func must[T any](t *testing.T) func(T, *godo.Response, error) T {
	return func(v T, _ *godo.Response, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func equal[T any](t *testing.T, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(id.Session{}, id.Environment{})); diff != "" {
		t.Fatalf("(-want +got)\n%s", diff)
	}
}

func TestPublicClientCreates(t *testing.T) {
	s := newStage()
	client, _ := public(t, s)
	ctx := context.Background()
	made := must[*godo.HostedAgentSession](t)(client.HostedAgents.CreateSessionFromManifest(ctx, []byte("agent: demo\n"),
		&godo.HostedAgentManifestCreateOptions{ResumeOnTopoff: true, OpenAISessionID: "sess_x"}))
	equal(t, s.create, engine.CreateRequest{Spec: []byte("agent: demo\n"), By: "laptop", ResumeOnTopoff: true, OpenAISession: "sess_x"})
	equal(t, made.SessionID, someSession.String())
	equal(t, made.Name, "demo-quiet-otter")
	equal(t, made.AgentKind, godo.HostedAgentKindCustom)
	equal(t, made.Status, godo.HostedAgentSessionStatusReady)
	equal(t, made.CreatedAt.UTC(), someTime)
	equal(t, made.LastEventAt.IsZero(), true)
	equal(t, made.Warnings, []string{"no network yet"})
	equal(t, made.Location, client.BaseURL.String()+"/v2/harness-runtime/sessions/"+someSession.String())

	environment := s.view.Environment
	must[*godo.HostedAgentSession](t)(client.HostedAgents.CreateSessionFromEnvironment(ctx,
		&godo.HostedAgentSessionFromEnvironmentRequest{Name: "bot", ConfigID: environment.String(), Region: "local", ResumeOnTopoff: true}))
	equal(t, s.create.Environment, environment.String())
	equal(t, s.create.Name, "bot")
	equal(t, s.create.ResumeOnTopoff, true)

	must[*godo.HostedAgentSession](t)(client.HostedAgents.CreateSession(ctx, &godo.HostedAgentSessionCreateRequest{
		AgentKind: godo.HostedAgentKindNone, IdleTimeoutSeconds: 90, Origin: &godo.HostedAgentSessionOriginRequest{Product: "direct"},
	}))
	equal(t, string(s.create.Spec), "agent: none\nidle_timeout: 1m30s\n")
}

func TestPublicClientUsesEnvironments(t *testing.T) {
	s := newStage()
	client, check := public(t, s)
	agents, ctx := client.HostedAgents, context.Background()
	url := client.BaseURL.String() + "/v2/harness-runtime/configs/" + s.environment.ID.String()

	made := must[*godo.HostedEnvironment](t)(agents.CreateEnvironment(ctx, &godo.HostedEnvironmentCreateRequest{Name: "review-bot", ManifestYAML: "agent: demo\n"}))
	equal(t, s.asked, engine.EnvironmentRequest{Name: "review-bot", Spec: []byte("agent: demo\n"), By: "laptop"})
	equal(t, []string{made.ID, made.Name, made.ContentHash, made.CreatedBy, made.Region, made.Location}, []string{s.environment.ID.String(), "review-bot", "abc", "laptop", "local", url})
	equal(t, string(made.Manifest), `{"agent":"demo","env":{"A":"b"}}`)
	equal(t, made.Warnings, []string{"no network yet"})
	equal(t, []time.Time{made.CreatedAt.UTC(), made.UpdatedAt.UTC()}, []time.Time{someTime, someTime})

	got := must[*godo.HostedEnvironment](t)(agents.GetEnvironment(ctx, made.ID))
	equal(t, s.ref, made.ID)
	equal(t, []any{got.Name, len(got.Warnings), len(got.Credentials)}, []any{"review-bot", 0, 0})
	page := must[*godo.HostedEnvironmentsListResponse](t)(agents.ListEnvironments(ctx, &godo.HostedEnvironmentListOptions{PageSize: 3, PageToken: "t"}))
	equal(t, []any{len(page.Configs), page.Configs[0].Name, page.NextPageToken}, []any{1, "review-bot", "next"})
	used := must[*godo.HostedAgentSessionsListResponse](t)(agents.ListEnvironmentSessions(ctx, made.ID, &godo.HostedAgentSessionListOptions{Status: "SESSION_STATUS_ALL"}))
	equal(t, []any{len(used.Sessions), s.list.All}, []any{1, true})
	equal(t, s.list.Environment, s.environment.ID)
	if answer, err := agents.DeleteEnvironment(ctx, made.ID); err != nil || answer.StatusCode != 204 {
		t.Errorf("delete: %v %v", answer, err)
	}
	_ = check
}

func TestPublicClientUsesTemplates(t *testing.T) {
	s := newStage()
	client, check := public(t, s)
	agents, ctx := client.HostedAgents, context.Background()
	want := godo.HostedAgentTemplate{
		TemplateID: s.template.ID.String(), Name: "tools", Status: godo.HostedAgentTemplateStatusReady,
		CreatedAt: godo.Timestamp{Time: someTime}, UpdatedAt: godo.Timestamp{Time: someTime},
		Spec: &godo.HostedAgentTemplateSpec{BaseTemplate: "coding-base", Image: &godo.HostedAgentTemplateImageSource{Registry: "registry.example.com:5000", Repository: "team/tools", Tag: "2026"}},
	}
	same := func(got *godo.HostedAgentTemplate) {
		t.Helper()
		got.CreatedAt.Time, got.UpdatedAt.Time = got.CreatedAt.UTC(), got.UpdatedAt.UTC()
		equal(t, *got, want)
	}
	same(must[*godo.HostedAgentTemplate](t)(agents.CreateTemplate(ctx, &godo.HostedAgentTemplateCreateRequest{Name: "tools", BaseTemplate: "coding-base", SourceOCIRef: "x/y:1"})))
	equal(t, s.wanted, engine.TemplateRequest{Name: "tools", Source: "x/y:1", Base: "coding-base", By: "laptop"})
	same(must[*godo.HostedAgentTemplate](t)(agents.GetTemplate(ctx, want.TemplateID)))
	equal(t, s.ref, want.TemplateID)
	same(must[*godo.HostedAgentTemplate](t)(agents.UpdateTemplate(ctx, want.TemplateID, &godo.HostedAgentTemplateUpdateRequest{SourceOCIRef: "x/y:2"})))
	equal(t, s.wanted, engine.TemplateRequest{Source: "x/y:2", By: "laptop"})
	page := must[*godo.HostedAgentTemplatesListResponse](t)(agents.ListTemplates(ctx, &godo.HostedAgentTemplateListOptions{PageSize: 3, PageToken: "t"}))
	equal(t, []any{len(page.Templates), page.NextPageToken}, []any{1, "next"})
	same(&page.Templates[0])
	gone := must[*godo.HostedAgentTemplateDeleteResponse](t)(agents.DeleteTemplate(ctx, want.TemplateID))
	equal(t, *gone, godo.HostedAgentTemplateDeleteResponse{TemplateID: want.TemplateID, Deleted: true})
	_ = check
}

func TestImageOnWire(t *testing.T) {
	for ref, want := range map[string]gen.TemplateImage{
		"index.docker.io/library/debian:13":        {Registry: "index.docker.io", Repository: "library/debian", Tag: "13"},
		"registry.example.com:5000/a/b@sha256:abc": {Registry: "registry.example.com:5000", Repository: "a/b", Digest: "sha256:abc"},
	} {
		equal(t, imageOnWire(ref), want)
	}
}

func TestPublicClientUsesSessions(t *testing.T) {
	s := newStage()
	client, check := public(t, s)
	agents, ctx := client.HostedAgents, context.Background()

	page := must[*godo.HostedAgentSessionsListResponse](t)(agents.ListSessions(ctx,
		&godo.HostedAgentSessionListOptions{Status: "SESSION_STATUS_DETACHED", Name: "x", PageSize: 7, PageToken: "t", ParentSessionID: someSession.String()}))
	equal(t, []any{len(page.Sessions), page.NextPageToken}, []any{1, "next"})
	equal(t, len(page.Sessions[0].Warnings), 0)
	equal(t, s.list.States, []session.State{session.Ready})
	equal(t, []any{s.list.Name, s.list.PageSize, s.list.PageToken, s.list.Parent}, []any{"x", 7, "t", someSession})
	must[*godo.HostedAgentSessionsListResponse](t)(agents.ListSessions(ctx, &godo.HostedAgentSessionListOptions{Status: "SESSION_STATUS_ALL"}))
	equal(t, s.list.All, true)

	s.view.State, s.view.PauseReason, s.view.Adapter, s.view.Run = session.Paused, session.PauseIdle, "none", nil
	got := must[*godo.HostedAgentSession](t)(agents.GetSession(ctx, "demo-quiet-otter"))
	equal(t, s.ref, "demo-quiet-otter")
	equal(t, got.PauseReason, godo.HostedAgentSessionPauseReasonIdle)
	equal(t, got.AgentKind, godo.HostedAgentKindNone)
	on := true
	equal(t, must[*godo.HostedAgentSession](t)(agents.UpdateSession(ctx, "x", &godo.HostedAgentSessionUpdateRequest{ResumeOnTopoff: &on})).ResumeOnTopoff, true)

	for status, act := range map[int]func() (*godo.Response, error){
		204: func() (*godo.Response, error) { return agents.PauseSession(ctx, "x") },
		205: func() (*godo.Response, error) { return agents.ResumeSession(ctx, "x") },
		206: func() (*godo.Response, error) { return agents.DestroySession(ctx, "x") },
		207: func() (*godo.Response, error) {
			return agents.ResolveHITL(ctx, "x", "hitl_1", &godo.HostedAgentResolveHITLRequest{
				Outcome: godo.HostedAgentHITLOutcomeReject, Reason: "no", Source: godo.HostedAgentResolutionSourceOutOfBand, Content: map[string]any{"a": "b"},
			})
		},
	} {
		response, err := act()
		if err != nil || response.StatusCode != http.StatusNoContent {
			t.Fatalf("call %d: %v %v", status, response, err)
		}
	}
	equal(t, s.answer, engine.Answer{Outcome: approval.OutcomeReject, Reason: "no", Actor: "laptop", Content: map[string]any{"a": "b"}})
	s.pending = true
	response, err := agents.PauseSession(ctx, "x")
	if err != nil || response.StatusCode != http.StatusAccepted {
		t.Fatalf("pending pause: %v %v", response, err)
	}

	run := must[*godo.HostedAgentSendInputResponse](t)(agents.SendInput(ctx, "x", &godo.HostedAgentSendInputRequest{Text: "hi", SourceRaw: []byte{1}}))
	equal(t, run.RunID, someRun.String())
	equal(t, s.input, engine.Input{Text: "hi", SourceRaw: []byte{1}})
	exec := must[*godo.HostedAgentSandboxExecResponse](t)(agents.ExecInSandbox(ctx, "x", &godo.HostedAgentSandboxExecRequest{Argv: []string{"ls"}, Workdir: "/", TimeoutSeconds: 2}))
	equal(t, *exec, godo.HostedAgentSandboxExecResponse{ExitCode: 3, Stdout: "out", Stderr: "e\uFFFD"})
	equal(t, s.exec, engine.ExecRequest{Argv: []string{"ls"}, Workdir: "/", Timeout: 2 * time.Second})
	if sizes := must[*godo.HostedAgentSandboxSizesResponse](t)(agents.ListSandboxSizes(ctx)); len(sizes.Sizes) == 0 || sizes.Sizes[0].MemoryMB == 0 {
		t.Fatalf("sizes %+v", sizes)
	}
	slug, ok := must[*godo.HostedAgentRegionsResponse](t)(agents.ListRegions(ctx)).DefaultRegion()
	equal(t, []any{slug, ok}, []any{"local", true})
	if check.count != 13 {
		t.Fatalf("%d answers, not 13, were checked against openapi.yaml", check.count)
	}
}

func TestPublicClientReadsErrors(t *testing.T) {
	s := newStage()
	client, _ := public(t, s)
	ctx := context.Background()
	refused := func(_ any, _ *godo.Response, err error) *godo.ErrorResponse {
		t.Helper()
		var e *godo.ErrorResponse
		if !errors.As(err, &e) {
			t.Fatalf("want an error response, got %v", err)
		}
		return e
	}
	relay, response, err := client.HostedAgents.RelayRequest(ctx, "x", &godo.HostedAgentRelayRequest{SourceRaw: []byte("{}")})
	e := refused(relay, response, err)
	equal(t, e.Response.StatusCode, http.StatusNotImplemented)
	equal(t, s.ref, "x")

	s.err = fault.New(fault.Conflict, "team is at the limit of 50 active sessions")
	made, response, err := client.HostedAgents.CreateSessionFromManifest(ctx, []byte("agent: demo"), nil)
	e = refused(made, response, err)
	equal(t, e.Response.StatusCode, http.StatusConflict)
	equal(t, e.Message, "team is at the limit of 50 active sessions")
	equal(t, e.RequestID, e.Response.Header.Get("X-Request-Id"))
	equal(t, e.NestedError.Code, http.StatusConflict)
	equal(t, e.NestedError.Message, e.Message)
}

func TestPublicClientStreams(t *testing.T) {
	client, _ := public(t, newStage())
	ctx := context.Background()
	stream := must[*godo.HostedAgentSessionStream](t)(client.HostedAgents.StreamSession(ctx, "x", &godo.HostedAgentSessionStreamOptions{ReplayOnly: true}))
	var ids []string
	for stream.Next() {
		if e := stream.Current(); e.Kind != godo.HostedAgentEventKindStreamState {
			ids = append(ids, e.EventID)
		}
	}
	stream.Close()
	if stream.Err() != nil || len(ids) != 5 {
		t.Fatalf("%d events, %v", len(ids), stream.Err())
	}
	for limit, more := range map[int]bool{2: true, 4: false} {
		stream = must[*godo.HostedAgentSessionStream](t)(client.HostedAgents.StreamSession(ctx, "x",
			&godo.HostedAgentSessionStreamOptions{ReplayOnly: true, Before: ids[4], Limit: limit}))
		n := 0
		for stream.Next() {
			n++
		}
		stream.Close()
		equal(t, []any{n, stream.HasMore(), stream.Err()}, []any{limit + 1, more, nil})
	}
}
