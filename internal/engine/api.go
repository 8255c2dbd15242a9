package engine

import (
	"encoding/json"
	"time"

	"paddock/internal/approval"
	"paddock/internal/event"
	"paddock/internal/guestapi"
	"paddock/internal/id"
	"paddock/internal/recovery"
	"paddock/internal/session"
)

// View is a session as callers see it.
type View struct {
	session.Session
	Run    *session.Run // the active run; nil at a boundary
	Queued int          // runs that wait behind it
	// IdleAt is when it will be paused for being idle if nothing happens before;
	// zero while that cannot happen.
	IdleAt time.Time
	// Saved is the newest recovery point; zero when there is none.
	Saved recovery.Point
	// Isolation and Limits are what this host's driver says of itself (see
	// sandbox.Capabilities).
	Isolation, Limits string
}

// CreateRequest asks for a session. Exactly one of Spec and Environment is set.
type CreateRequest struct {
	Spec           []byte // the YAML text; stored as an environment of the session's name
	By             string // name of the caller's token
	Environment    string // id or name of an existing one
	Name           string // with Environment: the session's name; empty: the spec's, or one is made
	ResumeOnTopoff bool
	OpenAISession  string
	Once           Once[Created]
}

// Created is a session as it was made, and what of its spec does not hold.
type Created struct {
	View     View
	Warnings []string
}

// ListRequest chooses sessions of a team.
type ListRequest struct {
	States []session.State // empty: those that hold a slot, and destroying ones
	All    bool            // every state
	Name   string          // exact, case-insensitive
	Search string
	Parent id.Session // forks of this session
	// Environment chooses the sessions that were made from it.
	Environment id.Environment
	PageSize    int // clamped to 1–200, 0 means 50
	PageToken   string
}

// Input is what a person says to the agent.
type Input struct {
	Text      string
	SourceRaw []byte
	Once      Once[id.Run]
}

// Answer is a person's answer to an approval.
type Answer struct {
	Outcome approval.Outcome
	Reason  string
	Actor   string         // who answered; the token's name
	Content map[string]any // for a form; never stored
	// Input is the tool's whole input as the person edited it; empty: as it was
	// asked.
	Input json.RawMessage
	// ForSession lets the same pass without a question for the rest of the
	// session.
	ForSession bool
}

// CancelResult says what a cancel met.
type CancelResult struct {
	Session id.Session
	Run     id.Run // zero with outcome no_turn
	Outcome guestapi.CancelOutcome
}

// ExecRequest runs one program in a session's sandbox.
type ExecRequest struct {
	Argv    []string
	Workdir string // default /workspace
	Stdin   []byte
	Timeout time.Duration // 0: 60 s; at most 24 h
	User    string        // "agent" (default) or "root"
	Env     map[string]string
	Once    Once[ExecResult]
}

// Bounds of an exec.
const (
	DefaultExecTimeout = 60 * time.Second
	MaxExecTimeout     = 24 * time.Hour
	MaxExecOutput      = 1 << 20 // bytes kept per stream
)

// ExecResult is how it went.
type ExecResult struct {
	Code            int // from wait(2); 128 + signal
	Stdout, Stderr  []byte
	StdoutTruncated bool // more than MaxExecOutput came
	StderrTruncated bool
	TimedOut        bool
	Detached        bool // a child still holds the output and lives on
	Duration        time.Duration
}

// actor names who did something, in events.
const (
	actorPolicy = "policy"
	actorGrant  = "grant"
	actorSystem = "paddock"
)

// cancelledBy ends a run that a person cancelled.
func cancelledBy(who string) event.Failed {
	if who == "" {
		who = "somebody inside its sandbox" // no cancel of ours is known
	}
	return event.Failed{Code: event.Internal, Name: event.Internal.Name(), Message: "cancelled by " + who, Cancelled: true}
}
