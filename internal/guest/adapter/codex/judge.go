package codex

import (
	"encoding/json"
	"strings"
	"time"

	"paddock/internal/guest"
	"paddock/internal/guestapi"
)

// judgeTime is how long the hook waits for the host before it does what it does
// where a person decides. Codex gives a call up after 30 s.
const judgeTime = 10 * time.Second

// maxName bounds the names of calls and tools, in bytes; Codex's are far shorter.
const maxName = 512

// hookAnswer is what the hook tells Codex; nothing at all lets a call go on.
type hookAnswer struct {
	Output struct {
		Event    string         `json:"hookEventName"`
		Decision string         `json:"permissionDecision"` // allow, deny
		Reason   string         `json:"permissionDecisionReason,omitempty"`
		Input    map[string]any `json:"updatedInput,omitempty"`
	} `json:"hookSpecificOutput"`
}

func denies(why string) *hookAnswer {
	h := new(hookAnswer)
	h.Output.Event, h.Output.Decision, h.Output.Reason = "PreToolUse", "deny", why
	return h
}

func runs(command string) *hookAnswer {
	h := new(hookAnswer)
	h.Output.Event, h.Output.Decision, h.Output.Input = "PreToolUse", "allow", map[string]any{"command": command}
	return h
}

// The reasons that the model is told.
const (
	noTurn       = "no turn is running"
	noOthers     = "there are no sub-agents here; do it yourself"
	notOurs      = "calls of other conversations than the session's own are not let through"
	patchCommand = "a patch is applied with the tool apply_patch, not by a command; or write the file with another command"
	byCommand    = "a person would have to decide this, which is not possible for this tool; do it with a shell command instead, which can be decided"
)

// judge takes a call from the hook and says what becomes of it; nil lets it go
// on.
func (a *adapter) judge(in hookCall) *hookAnswer {
	t := a.current()
	if t == nil || in.ID == "" || len(in.ID) > maxName || len(in.Tool) > maxName {
		return denies(noTurn)
	}
	if !t.plays(in.Thread) {
		return denies(notOurs)
	}
	if in.Tool == planTool {
		return nil
	}
	raw, _ := json.Marshal(in) // it was decoded from JSON
	source := guest.Source{Type: "PreToolUse", Raw: raw}
	if !t.say.asked(in.ID, a.called(in.Tool), in.kind(), in.shown(a.dir), source) {
		return denies(noTurn)
	}
	if in.Tool == questionTool {
		return nil // it goes to a person as what it is
	}
	switch {
	case in.Tool == shellTool && hidesPatch(in.field("command")):
		return t.refuse(in.ID, patchCommand)
	case strings.HasPrefix(in.Tool, othersTools):
		return t.refuse(in.ID, noOthers)
	}
	c, q := newCall(in), a.ask(in)
	q.Key = t.sink.NewKey()
	if !t.open(q.Key, ask{call: c}) {
		return t.refuse(in.ID, noTurn)
	}
	t.sink.Ask(q, source)
	timer := time.NewTimer(judgeTime)
	defer timer.Stop()
	select {
	case <-c.judged:
	case <-timer.C:
	case <-a.keeper.Life().Done():
		return denies(noTurn)
	}
	return t.verdict(c, q)
}

// plays says whether a conversation is the one of the turn.
func (t *turn) plays(thread string) bool {
	t.Lock()
	defer t.Unlock()
	return t.Process != nil && t.Process.thread == thread
}

// verdict says what becomes of a call, as far as it is known.
func (t *turn) verdict(c *call, q guestapi.Ask) *hookAnswer {
	t.Lock()
	decided, answer := c.isDecided(), c.answer
	if decided {
		c.command, c.gate = "", "" // the gate is not needed
	}
	t.Unlock()
	switch {
	case decided && answer.Decision == guestapi.Allow:
		if command := edited(answer.Input); command != "" {
			return runs(command)
		}
		return nil
	case decided:
		return t.refuse(c.id, rejection(answer))
	case q.Wait == guestapi.WaitNever:
		return t.refuse(c.id, byCommand)
	case c.gate != "":
		return runs(gateCommand(c.gate))
	}
	return nil // Codex asks about it
}

func (c *call) isDecided() bool {
	select {
	case <-c.decided:
		return true
	default:
		return false
	}
}

// refuse ends a call that is not let through.
func (t *turn) refuse(id, why string) *hookAnswer {
	t.say.refused(id, why)
	return denies(why)
}

// rejection is why a call may not be made, for the model.
func rejection(answer guestapi.Answer) string {
	switch {
	case answer.Decision == guestapi.Cancel:
		return "the turn is being cancelled"
	case answer.Reason != "":
		return answer.Reason
	}
	return "it was rejected by a person"
}

// edited is the command that a person wants instead, or "".
func edited(input json.RawMessage) string {
	return hookCall{Input: input}.field("command")
}
