package session

import (
	"time"

	"paddock/internal/id"
)

// Session is one running instance of an environment.
type Session struct {
	ID          id.Session
	Team        id.Team
	Name        string
	Environment id.Environment
	Adapter     string // the agent's word in the spec, such as demo or codex; never changes
	// AdapterVersion is the version of the installed agent that it got; it stays,
	// whatever is installed later. Empty where none is pinned.
	AdapterVersion string
	State          State
	Generation     int64 // counts changes of the row; a decision made on an older one conflicts
	PauseReason    PauseReason
	// PausePending is the reason of a pause that waits for the boundary; empty
	// when none does.
	PausePending PauseReason
	Reason       string // why it failed, one sentence
	Terminal     string // why it accepts no further input; empty when it does

	IdleTimeout    time.Duration
	KeepWarm       bool
	ResumeOnTopoff bool
	OpenAISession  string // stored, unused

	CreatedAt   time.Time
	LastEventAt time.Time
	ActiveAt    time.Time // last activity, for the idle timer
	Deadline    time.Time // of the present waiting state (provisioning, destroying); zero when none
	EndedAt     time.Time // when it was destroyed or failed

	LastSeq int64      // of its history
	History int64      // bytes that it holds: payloads and native frames
	Sandbox id.Sandbox // zero until one is allocated
	Usage              // of all its runs
	Memory  string     // "kept", or "lost:<reason>" after a recovery that could not keep it
	// Template is what its root was made of, and Image the digest of that root, which
	// it keeps for life; empty until it has one. Both are zero where the root is a
	// view of the host's own system.
	Template id.Template
	Image    string
	// RestoredTo is when the files were as they were found at the last recovery
	// that lost the memory; zero when none did.
	RestoredTo time.Time
}

// AcceptsInput says whether an input would be taken now, for the session's own
// part; a paused session is resumed by it.
func (s Session) AcceptsInput() bool {
	return s.Terminal == "" && s.Adapter != "none" && (s.State == Ready || s.State == Paused)
}
