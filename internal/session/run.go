package session

import (
	"fmt"
	"time"

	"paddock/internal/event"
	"paddock/internal/id"
)

// RunState is where a run stands.
type RunState string

// The states of a run.
const (
	RunQueued    RunState = "queued"        // waits for the run before it
	RunRunning   RunState = "running"       // the agent works
	RunAwaiting  RunState = "awaiting_hitl" // the agent waits for a person
	RunCompleted RunState = "completed"
	RunFailed    RunState = "failed" // ends the conversation when Terminal
	RunCancelled RunState = "cancelled"
)

// RunStates lists all of them.
var RunStates = []RunState{RunQueued, RunRunning, RunAwaiting, RunCompleted, RunFailed, RunCancelled}

// RunCause is why a run moves.
type RunCause string

// The causes.
const (
	RunStart    RunCause = "start"
	RunAsk      RunCause = "ask"      // an approval is pending
	RunAnswer   RunCause = "answer"   // none is pending any more
	RunComplete RunCause = "complete" // the turn ended
	RunFail     RunCause = "fail"
	RunCancel   RunCause = "cancel"
)

type runMove struct {
	from  RunState
	cause RunCause
}

var runMoves = map[runMove]RunState{
	{RunQueued, RunStart}:      RunRunning,
	{RunQueued, RunFail}:       RunFailed, // a run before it failed for good
	{RunQueued, RunCancel}:     RunCancelled,
	{RunRunning, RunAsk}:       RunAwaiting,
	{RunAwaiting, RunAnswer}:   RunRunning,
	{RunRunning, RunComplete}:  RunCompleted,
	{RunAwaiting, RunComplete}: RunCompleted,
	{RunRunning, RunFail}:      RunFailed,
	{RunAwaiting, RunFail}:     RunFailed,
	{RunRunning, RunCancel}:    RunCancelled,
	{RunAwaiting, RunCancel}:   RunCancelled,
}

// On gives the state that follows, or an error when the table has no such move.
func (s RunState) On(cause RunCause) (RunState, error) {
	if next, ok := runMoves[runMove{s, cause}]; ok {
		return next, nil
	}
	return s, fmt.Errorf("a run that is %s does not move on %q", s, cause)
}

// Active says whether the run holds its session: nothing else may start, and
// the session is not at a boundary.
func (s RunState) Active() bool { return s == RunRunning || s == RunAwaiting }

// Ended says whether nothing follows.
func (s RunState) Ended() bool { return s == RunCompleted || s == RunFailed || s == RunCancelled }

// Wire is the state in the words of the wire, e.g. RUN_STATE_RUNNING.
func (s RunState) Wire() string { return wireRunStates[s] }

var wireRunStates = map[RunState]string{
	RunQueued: "RUN_STATE_QUEUED", RunRunning: "RUN_STATE_RUNNING", RunAwaiting: "RUN_STATE_AWAITING_HITL",
	RunCompleted: "RUN_STATE_COMPLETED", RunFailed: "RUN_STATE_FAILED", RunCancelled: "RUN_STATE_CANCELLED",
}

// MaxQueued is how many inputs may wait behind the active run.
const MaxQueued = 32

// Run is one turn of a session's agent.
type Run struct {
	ID        id.Run
	Session   id.Session
	Text      string // the input
	SourceRaw []byte // the client's native frame, if it sent one
	State     RunState
	CreatedAt time.Time
	StartedAt time.Time // zero while queued
	EndedAt   time.Time // zero until ended
	Deadline  time.Time // max_run_time; zero while queued
	Usage
	StopReason string
	Failure    *Failure // when failed or cancelled

	// AwaitingSince is when the run began to wait for people, who may take their
	// time: it does not count toward Deadline. Zero unless it waits.
	AwaitingSince time.Time
	// CancelAt is when somebody cancelled the active run, and CancelledBy who: it
	// is to end soon, whatever its agent does. Zero until then.
	CancelAt    time.Time
	CancelledBy string
	// Trace is where the run's span stands (see tracing.Trail); empty when it was
	// accepted by a server that does not trace.
	Trace string
}

// Failure says why a run failed.
type Failure struct {
	Code     event.FailureCode
	Message  string
	Terminal bool // the session accepts no further input
}
