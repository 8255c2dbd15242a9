package session

import (
	"fmt"
	"slices"
)

// State is where a session stands.
type State string

// The states of a session.
const (
	Provisioning State = "provisioning" // its sandbox is being made
	Ready        State = "ready"        // the sandbox reports that it is up
	Paused       State = "paused"       // frozen in place
	Updating     State = "updating"     // being rolled back, or its lost sandbox replaced
	Destroying   State = "destroying"   // being removed; always ends in Destroyed
	Destroyed    State = "destroyed"
	Failed       State = "failed" // its machine is lost or never came up
)

// States lists all of them.
var States = []State{Provisioning, Ready, Paused, Updating, Destroying, Destroyed, Failed}

// Cause is why a session moves.
type Cause string

// The causes.
const (
	CauseUp             Cause = "up"              // the sandbox reports that it is up
	CauseBootFailed     Cause = "boot_failed"     // or its deadline passed
	CausePause          Cause = "pause"           // manual, idle or zero balance, at a boundary
	CauseResume         Cause = "resume"          // by a person, an input or a machine call
	CauseRollback       Cause = "rollback"        // a rollback begins
	CauseRolledBack     Cause = "rolled_back"     // it succeeded
	CauseRollbackReady  Cause = "rollback_ready"  // it failed, the session was ready
	CauseRollbackPaused Cause = "rollback_paused" // it failed, the session was paused
	CauseRecover        Cause = "recover"         // the machine is lost, its saved files are not
	CauseRecovered      Cause = "recovered"       // another machine is up with those files
	CauseLost           Cause = "lost"            // the machine is lost, nothing to restore from
	CauseRemove         Cause = "remove"          // a person removes it
	CauseGone           Cause = "gone"            // nothing of it is left on the host
)

type move struct {
	from  State
	cause Cause
}

// moves is the whole of a session's life.
var moves = map[move]State{
	{Provisioning, CauseUp}:         Ready,
	{Provisioning, CauseBootFailed}: Failed,
	{Ready, CausePause}:             Paused,
	{Paused, CauseResume}:           Ready,
	{Ready, CauseRollback}:          Updating,
	{Paused, CauseRollback}:         Updating,
	{Updating, CauseRolledBack}:     Ready,
	{Updating, CauseRollbackReady}:  Ready,
	{Updating, CauseRollbackPaused}: Paused,
	{Ready, CauseRecover}:           Updating,
	{Updating, CauseRecovered}:      Ready,
	{Ready, CauseLost}:              Failed,
	{Updating, CauseLost}:           Failed,
	{Paused, CauseLost}:             Failed,
	{Provisioning, CauseRemove}:     Destroying,
	{Ready, CauseRemove}:            Destroying,
	{Paused, CauseRemove}:           Destroying,
	{Updating, CauseRemove}:         Destroying,
	{Failed, CauseRemove}:           Destroying,
	{Destroying, CauseGone}:         Destroyed,
}

// On gives the state that follows, or an error when the table has no such move.
func (s State) On(cause Cause) (State, error) {
	if next, ok := moves[move{s, cause}]; ok {
		return next, nil
	}
	return s, fmt.Errorf("a session that is %s does not move on %q", s, cause)
}

// HoldsSlot says whether a session in this state counts toward its team's limit.
func (s State) HoldsSlot() bool {
	return slices.Contains([]State{Provisioning, Ready, Updating, Paused}, s)
}

// HoldsName says whether a session in this state keeps its name from others.
func (s State) HoldsName() bool { return s.HoldsSlot() }

// Final says whether nothing follows.
func (s State) Final() bool { return s == Destroyed }

// Wire is the state in the words of the wire, e.g. SESSION_STATUS_READY.
func (s State) Wire() string { return wireStates[s] }

var wireStates = map[State]string{
	Provisioning: "SESSION_STATUS_PROVISIONING", Ready: "SESSION_STATUS_READY", Paused: "SESSION_STATUS_PAUSED",
	Updating: "SESSION_STATUS_UPDATING", Destroying: "SESSION_STATUS_DESTROYING", Destroyed: "SESSION_STATUS_DESTROYED",
	Failed: "SESSION_STATUS_FAILED",
}

// StateFromWire reads a word of the wire.
func StateFromWire(word string) (State, bool) {
	for s, w := range wireStates {
		if w == word {
			return s, true
		}
	}
	return "", false
}

// PauseReason says why a session is paused, in the words of the wire.
type PauseReason string

// Exactly three reasons.
const (
	PauseManual      PauseReason = "manual"
	PauseIdle        PauseReason = "idle"
	PauseZeroBalance PauseReason = "zero_balance"
)
