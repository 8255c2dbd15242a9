// Package approval holds the record of a question that keeps a run waiting
// until a person answers.
package approval

import (
	"encoding/json"
	"time"

	"paddock/internal/event"
	"paddock/internal/id"
)

// State is where an approval stands.
type State string

// The states of an approval. It leaves Pending once and for all.
const (
	Pending  State = "pending"
	Approved State = "approved"
	Rejected State = "rejected"
	Deferred State = "deferred" // a person saw it and left it for later; still answerable
	Expired  State = "expired"  // its run ended, or its deadline passed: rejected, but by nobody
)

// Open says whether it still waits for an answer.
func (s State) Open() bool { return s == Pending || s == Deferred }

// Approval is one question of an agent's.
type Approval struct {
	ID       id.Approval
	Team     id.Team
	Session  id.Session
	Run      id.Run
	Key      string // the guest's name for it
	Asked    event.Asked
	State    State
	Actor    string
	Reason   string
	At       time.Time // when it was asked
	EndedAt  time.Time // when it was answered or expired
	Deadline time.Time // when it is decided without a person; zero: it was at once

	// Input is the tool's input as the person edited it; nil: as it was asked.
	Input json.RawMessage
	// Grant is what decided in a person's place; zero: none did.
	Grant id.Grant
}

// OfPeople says whether a person was asked. What a rule or a grant decides at
// once is kept so that the guest can be told again, and for nothing else.
func (a Approval) OfPeople() bool { return !a.Deadline.IsZero() }

// Outcome is an answer in the words of the wire.
type Outcome string

// The outcomes.
const (
	OutcomeApprove Outcome = "HITL_OUTCOME_APPROVE"
	OutcomeReject  Outcome = "HITL_OUTCOME_REJECT"
	OutcomeDefer   Outcome = "HITL_OUTCOME_DEFER"
)

// States maps a person's outcome to the state it leads to.
var States = map[Outcome]State{OutcomeApprove: Approved, OutcomeReject: Rejected, OutcomeDefer: Deferred}
