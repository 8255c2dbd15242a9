package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"paddock/internal/event"
	"paddock/internal/session"
	"paddock/internal/store"
)

// silenceLimit is how long a running run may report nothing before a warning
// says so; a run that waits for people is not silent.
const silenceLimit = 120 * time.Second

// silenceSettle is what a guest that was away has to hand over what it kept,
// before its run is called silent.
const silenceSettle = 10 * time.Second

// silenceLook is how many events are looked at for what went on last.
const silenceLook = 256

// silentField marks the warning: for how many seconds nothing was reported.
const silentField = "silent_seconds"

// listenAfter puts off the look at whether the running run is silent.
func (m *machine) listenAfter(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.listen = m.engine.now().Add(d)
}

// lookForSilence says whether it is time to look whether the running run is silent.
func (m *machine) lookForSilence(now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.runEnds.IsZero() || now.Before(m.listen) {
		return false
	}
	m.listen = now.Add(silenceLimit)
	return true
}

// warnOfSilence writes a warning into the history of a running run that has
// reported nothing for too long: one for each silent stretch, whoever was the
// server when it began. How long that is, and what went on last, is read from
// the history.
func (e *Engine) warnOfSilence(ctx context.Context, m *machine) {
	m.letGuestGoOn(ctx)
	m.doubt() // that nothing is reported may be because nobody is there to report it
	err := e.change(ctx, m.session, func(c *change) error {
		r, err := c.active()
		if err != nil {
			return err
		}
		if r == nil || r.State != session.RunRunning || !r.CancelAt.IsZero() {
			return errNoChange
		}
		events, err := c.tx.Events(ctx, m.session, store.EventPage{Run: r.ID, Before: c.s.LastSeq + 1, Limit: silenceLook})
		if err != nil || len(events) == 0 {
			return err
		}
		last := events[len(events)-1]
		silent := c.now.Sub(last.At)
		if silent < silenceLimit {
			m.listenAfter(silenceLimit - silent)
			return errNoChange
		}
		if isSilenceWarning(last) {
			return errNoChange
		}
		fields := map[string]any{silentField: int64(silent / time.Second)}
		message := fmt.Sprintf("the agent has reported nothing for %s; %s", silent.Round(time.Second), lastSign(events, fields))
		c.emit(r.ID, event.RunLog, event.Log{Level: "warn", Message: message, Fields: fields})
		return nil
	})
	if err != nil && ctx.Err() == nil {
		e.log.Error("look whether a run is silent", "session_id", m.session, "error", err)
	}
}

func isSilenceWarning(v event.Event) bool {
	var l event.Log
	return v.Kind == event.RunLog && json.Unmarshal(v.Data, &l) == nil && l.Level == "warn" && l.Fields[silentField] != nil
}

// lastSign says in words what a run was at, and adds it to the fields.
func lastSign(events []event.Event, fields map[string]any) string {
	if t, open := openCall(events); open {
		fields["tool_call_id"], fields["tool"] = t.ToolCallID, t.Name
		var input struct{ Command string }
		if json.Unmarshal(t.Input, &input) == nil && input.Command != "" {
			return fmt.Sprintf("its tool call %s is still going on: %s", t.Name, shorten(input.Command))
		}
		return fmt.Sprintf("its tool call %s is still going on", t.Name)
	}
	switch events[len(events)-1].Kind {
	case event.RunStarted:
		return "it has not begun to answer"
	case event.TokenDelta:
		return "it was last talking"
	case event.ToolCallCompleted:
		return "its last tool call had ended"
	case event.HumanInputReceived:
		return "it had been given an answer"
	default:
		return "nothing is known of what it is at"
	}
}

// openCall finds the newest tool call that was started and did not end.
func openCall(events []event.Event) (open event.ToolStarted, found bool) {
	ended := map[string]bool{}
	for i := len(events) - 1; i >= 0; i-- {
		var t event.ToolStarted
		if json.Unmarshal(events[i].Data, &t) != nil {
			continue
		}
		switch events[i].Kind {
		case event.ToolCallCompleted:
			ended[t.ToolCallID] = true
		case event.ToolCallStarted:
			if !ended[t.ToolCallID] {
				return t, true
			}
		}
	}
	return event.ToolStarted{}, false
}

// shorten cuts a command to what fits into a sentence.
func shorten(s string) string {
	const most = 120
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
