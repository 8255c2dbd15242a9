package server

import (
	"context"
	"io"

	"paddock/internal/approval"
	"paddock/internal/engine"
	"paddock/internal/environment"
	"paddock/internal/guestapi"
	"paddock/internal/id"
	"paddock/internal/policy"
	"paddock/internal/server/sse"
	"paddock/internal/session"
	"paddock/internal/team"
)

// surface is what the edge needs of the engine. Every error is a *fault.Error,
// or an internal one that callers learn nothing of.
type surface interface {
	gate
	sessions
	environments
	agentFolder
	templates
	runs
	machine
	history
}

// gate says who may call and what is there.
type gate interface {
	Authenticate(ctx context.Context, token string) (team.Token, error)
	Ready(ctx context.Context) error
	ValidatePolicy(text []byte) (environment.Spec, policy.Assessment, error)
	Missing(ctx context.Context, team id.Team, ref, kind, name string) error
	Unserved(ctx context.Context, team id.Team, ref, what string, needsBoundary bool) error
}

type sessions interface {
	CreateSession(ctx context.Context, team id.Team, req engine.CreateRequest) (engine.View, []string, error)
	Session(ctx context.Context, team id.Team, ref string) (engine.View, error)
	Sessions(ctx context.Context, team id.Team, req engine.ListRequest) ([]engine.View, string, error)
	RemoveSession(ctx context.Context, team id.Team, ref string) error
	SetResumeOnTopoff(ctx context.Context, team id.Team, ref string, on bool) (engine.View, error)
	Pause(ctx context.Context, team id.Team, ref string) (pending bool, err error)
	Resume(ctx context.Context, team id.Team, ref string) error
}

type environments interface {
	CreateEnvironment(ctx context.Context, team id.Team, req engine.EnvironmentRequest) (engine.CreatedEnvironment, error)
	Environment(ctx context.Context, team id.Team, ref string) (environment.Environment, error)
	Environments(ctx context.Context, team id.Team, size int, token string) ([]environment.Environment, string, error)
	RemoveEnvironment(ctx context.Context, team id.Team, ref string) error
}

type agentFolder interface {
	Agents(ctx context.Context) (folder string, list []engine.AgentInstallation, err error)
	RemoveAgent(ctx context.Context, name, version string) error
}

type templates interface {
	CreateTemplate(ctx context.Context, team id.Team, req engine.TemplateRequest) (engine.TemplateView, error)
	ImportTemplate(ctx context.Context, team id.Team, req engine.TemplateRequest, archive io.Reader) (engine.TemplateView, error)
	Template(ctx context.Context, team id.Team, ref string) (engine.TemplateView, error)
	Templates(ctx context.Context, team id.Team, size int, token string) ([]engine.TemplateView, string, error)
	UpdateTemplate(ctx context.Context, team id.Team, ref string, req engine.TemplateRequest) (engine.TemplateView, error)
	RemoveTemplate(ctx context.Context, team id.Team, ref string) (id.Template, error)
}

type runs interface {
	Input(ctx context.Context, team id.Team, ref string, in engine.Input) (id.Run, error)
	Cancel(ctx context.Context, team id.Team, ref, run, actor string) (engine.CancelResult, error)
	Answer(ctx context.Context, team id.Team, ref, hitl string, answer engine.Answer) error
	Runs(ctx context.Context, team id.Team, ref string, size int, token string) ([]session.Run, string, error)
	Run(ctx context.Context, team id.Team, ref, run string) (session.Run, error)
	Approvals(ctx context.Context, team id.Team, ref string, pending bool) ([]approval.Approval, error)
	TeamApprovals(ctx context.Context, team id.Team, pending bool, size int, token string) ([]engine.TeamApproval, string, error)
	Grants(ctx context.Context, team id.Team, ref string) ([]approval.Grant, error)
	RevokeGrant(ctx context.Context, team id.Team, ref, grant, actor string) error
}

type machine interface {
	SandboxStats(ctx context.Context, team id.Team, size int, token string) ([]engine.SandboxStats, string, error)
	Exec(ctx context.Context, team id.Team, ref string, req engine.ExecRequest) (engine.ExecResult, error)
	Diff(ctx context.Context, team id.Team, ref string, patches bool) ([]engine.RepoDiff, error)
	ListFiles(ctx context.Context, team id.Team, ref, path string) ([]guestapi.File, error)
	ReadFile(ctx context.Context, team id.Team, ref, path string, offset, length int64) (guestapi.File, io.ReadCloser, error)
}

type history interface {
	// Feed opens a session's history; the caller closes it.
	Feed(ctx context.Context, team id.Team, ref string) (feed, error)

	// TeamFeed opens the history of all of a team's sessions; the caller closes it.
	TeamFeed(ctx context.Context, team id.Team) (feed, error)
}

type feed interface {
	sse.Log
	Close()
}

// production is the engine as a surface: its feeds have concrete types.
type production struct{ *engine.Engine }

func (p production) Feed(ctx context.Context, team id.Team, ref string) (feed, error) {
	f, err := p.Engine.Feed(ctx, team, ref)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (p production) TeamFeed(ctx context.Context, team id.Team) (feed, error) {
	f, err := p.Engine.TeamFeed(ctx, team)
	if err != nil {
		return nil, err
	}
	return f, nil
}
