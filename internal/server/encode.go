package server

import (
	"fmt"

	"paddock/internal/agents"
	"paddock/internal/approval"
	"paddock/internal/engine"
	"paddock/internal/guestapi"
	"paddock/internal/server/gen"
	"paddock/internal/session"
)

// region is the one place where a server's sessions run.
const region = "local"

// The public protocol's words for agents.
const (
	kindNone   = "AGENT_KIND_NONE"
	kindCustom = "AGENT_KIND_CUSTOM" // also for what it has no word for
)

// sessionOnWire is how callers see a session.
func sessionOnWire(v engine.View) gen.Session {
	out := gen.Session{
		SessionID: v.ID.String(), Name: v.Name, AgentKind: kindCustom, Adapter: v.Adapter, AdapterVersion: v.AdapterVersion, Status: v.State.Wire(),
		CreatedAt: v.CreatedAt.UTC(), LastEventAt: v.LastEventAt.UTC(),
		Message: v.Reason, Terminal: v.Terminal, Memory: v.Memory, RestoredTo: v.RestoredTo.UTC(),
		PausePending: v.PausePending != "", AcceptsInput: v.AcceptsInput(),
		SandboxID: v.Sandbox.String(), ConfigID: v.Environment.String(),
		QueuedRuns: v.Queued, TotalTokensIn: v.TokensIn, TotalTokensOut: v.TokensOut, CumulativeCostMicros: v.CostMicros, KeepWarm: v.KeepWarm, IdleTimeoutSeconds: int64(v.IdleTimeout.Seconds()), IdleAt: v.IdleAt.UTC(),
		Isolation: v.Isolation, Limits: v.Limits,
		ResumeOnTopoff: v.ResumeOnTopoff, OpenAISessionID: v.OpenAISession,
		Origin: &gen.Origin{Product: "direct", Verified: true}, Region: region,
	}
	if out.Limits == "" {
		out.Limits = "none"
	}
	if v.Adapter == "none" {
		out.AgentKind = kindNone
	} else if a, ok := agents.Find(v.Adapter); ok {
		out.AgentKind = kindOf(a)
	}
	if v.State == session.Paused {
		out.PauseReason = string(v.PauseReason)
	}
	if !v.Saved.At.IsZero() {
		out.RecoveryPoint = &gen.RecoveryPoint{At: v.Saved.At.UTC(), Bytes: v.Saved.Bytes}
	}
	if v.Run != nil {
		out.Run = &gen.ActiveRun{RunID: v.Run.ID.String(), State: v.Run.State.Wire()}
	}
	return out
}

// runOnWire is how callers see a run.
func runOnWire(r session.Run) gen.Run {
	out := gen.Run{
		RunID: r.ID.String(), SessionID: r.Session.String(), State: r.State.Wire(), Text: r.Text,
		CreatedAt: r.CreatedAt.UTC(), StartedAt: r.StartedAt.UTC(), EndedAt: r.EndedAt.UTC(),
		TotalTokensIn: r.TokensIn, TotalTokensOut: r.TokensOut, CumulativeCostMicros: r.CostMicros, StopReason: r.StopReason,
	}
	if f := r.Failure; f != nil {
		out.Failure = &gen.RunFailure{Code: int(f.Code), Name: f.Code.Name(), Message: f.Message, Terminal: f.Terminal}
	}
	return out
}

// approvalOnWire is how callers see an approval.
func approvalOnWire(a approval.Approval) gen.Approval {
	d := a.Asked.Details
	return gen.Approval{
		RequestID: a.ID.String(), SessionID: a.Session.String(), RunID: a.Run.String(), Action: string(a.Asked.Action),
		Details: gen.ApprovalDetails{
			Tool: d.Tool, Kind: d.Kind, Command: d.Command, Path: d.Path, Title: d.Title, Question: d.Question, Schema: d.Schema,
			Input: d.Input, Editable: d.Editable, Paths: d.Paths, URL: d.URL, Dir: d.Dir, Guessed: d.Guessed, Because: d.Because,
		},
		Payload: a.Asked.Payload, Deadline: a.Deadline.UTC(), State: string(a.State), Actor: a.Actor, Reason: a.Reason,
		RequestedAt: a.At.UTC(), ResolvedAt: a.EndedAt.UTC(), Input: a.Input, GrantID: a.Grant.String(),
	}
}

// grantOnWire is how callers see a grant.
func grantOnWire(g approval.Grant) gen.Grant {
	return gen.Grant{
		GrantID: g.ID.String(), SessionID: g.Session.String(), RequestID: g.Approval.String(), Action: string(g.Match.Action),
		Tool: g.Match.Tool, Kind: g.Match.Kind, Path: g.Match.Path, Input: g.Match.Input,
		Actor: g.Actor, Reason: g.Reason, GrantedAt: g.At.UTC(),
	}
}

// fileOnWire is how callers see an entry of a folder.
func fileOnWire(f guestapi.File) gen.File {
	return gen.File{
		Name: f.Name, Path: f.Path, Type: f.Type, Size: f.Size, Mode: fmt.Sprintf("%04o", f.Mode),
		ModTime: f.ModTime.UTC(), Target: f.Target,
	}
}

// list encodes each element; an empty list is [], never null.
func list[A, B any](in []A, encode func(A) B) []B {
	out := make([]B, 0, len(in))
	for _, a := range in {
		out = append(out, encode(a))
	}
	return out
}
