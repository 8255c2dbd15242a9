package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"paddock/internal/event"
	"paddock/internal/id"
	"paddock/internal/store"
)

// ToolCall is what an agent is at.
type ToolCall struct {
	ID      string
	Name    string
	Summary string // with what the tool was called: a command or path, else the beginning of its input
	At      time.Time
}

const (
	mostCalls   = 32  // open ones that are remembered, the newest
	mostSummary = 200 // characters
)

// toolCalls are the calls of the active run that have not ended, the oldest
// first. They are no part of what is true: they are for people who look.
type toolCalls struct {
	mu   sync.Mutex // guards what follows
	open []ToolCall
}

// note takes an event of the run.
func (t *toolCalls) note(kind event.Kind, data json.RawMessage, at time.Time) {
	switch kind {
	case event.ToolCallStarted:
		var p event.ToolStarted
		if json.Unmarshal(data, &p) == nil {
			t.begin(ToolCall{p.ToolCallID, p.Name, summary(p.Input), at})
		}
	case event.ToolCallCompleted:
		var p event.ToolCompleted
		if json.Unmarshal(data, &p) == nil {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.open = slices.DeleteFunc(t.open, func(c ToolCall) bool { return c.ID == p.ToolCallID })
		}
	}
}

func (t *toolCalls) begin(call ToolCall) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open = append(t.open, call)
	t.open = t.open[max(0, len(t.open)-mostCalls):]
}

// end forgets all calls: their run has ended.
func (t *toolCalls) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open = nil
}

// newest gives the call that began last, nil when none is open.
func (t *toolCalls) newest() *ToolCall {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.open) == 0 {
		return nil
	}
	call := t.open[len(t.open)-1]
	return &call
}

// findCalls looks up the open calls of a run that was adopted. An error only
// means that they are not shown.
func (e *Engine) findCalls(ctx context.Context, m *machine, run id.Run) {
	events, err := e.store.Events(ctx, m.session, store.EventPage{
		Run: run, Kinds: []event.Kind{event.ToolCallStarted, event.ToolCallCompleted}, Before: math.MaxInt64, Limit: 2 * mostCalls,
	})
	if err != nil {
		e.log.Debug("find open tool calls", "session_id", m.session, "run_id", run, "error", err)
		return
	}
	for _, ev := range events {
		m.calls.note(ev.Kind, ev.Data, ev.At)
	}
}

// summary is the input of a tool in one line.
func summary(input json.RawMessage) string {
	var in struct {
		Command any    `json:"command"`
		Path    string `json:"path"`
	}
	_ = json.Unmarshal(input, &in) // an input of another shape is shown as it is
	text := in.Path
	switch command := in.Command.(type) {
	case string:
		text = command
	case []any:
		text = strings.Trim(fmt.Sprint(command), "[]")
	}
	if text == "" && string(input) != "null" {
		text = string(input)
	}
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > mostSummary {
		text = string(r[:mostSummary-1]) + "…"
	}
	return text
}
