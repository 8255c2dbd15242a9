package codex

import (
	"encoding/json"
	"strings"
	"sync"
	"time"

	"paddock/internal/event"
	"paddock/internal/guest"
)

// maxAnswer is how much of the final answer is kept, in bytes.
const maxAnswer = 64 << 10

// translation turns what Codex tells of one turn into reports.
type translation struct {
	sink guest.Sink

	mu      sync.Mutex // held while something is translated
	over    bool       // the turn has ended: what comes later is not its own
	tools   map[string]*tool
	order   []*tool
	message string          // id of the message that is being said
	text    strings.Builder // of that message
	told    map[string]bool // messages of which something was said
	bill    bill

	noteMu sync.Mutex // held for no report
	notes  map[string]note
}

// note is how a call ended as we know it, whatever Codex makes of it.
type note struct {
	ok      bool
	summary string
	last    bool // Codex reports no end of it
}

func newTranslation(sink guest.Sink) translation {
	return translation{sink: sink, tools: map[string]*tool{}, told: map[string]bool{}, notes: map[string]note{}}
}

// note keeps how a call ended, for its end. It never waits.
func (x *translation) note(id string, n note) {
	x.noteMu.Lock()
	defer x.noteMu.Unlock()
	x.notes[id] = n
}

func (x *translation) noted(id string) (note, bool) {
	x.noteMu.Lock()
	defer x.noteMu.Unlock()
	n, ok := x.notes[id]
	return n, ok
}

// close ends the translation: what is being translated has been when it returns,
// and nothing is after that.
func (x *translation) close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.over = true
}

// notice translates a notification of the turn; false when it has no event of
// its own.
func (x *translation) notice(method string, n *notice, raw []byte) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.over {
		return false
	}
	source := guest.Source{Type: method, Raw: raw}
	switch method {
	case "turn/started", "turn/diff/updated", "turn/plan/updated", "hook/started", "hook/completed", "item/mcpToolCall/progress", "item/fileChange/patchUpdated":
	case "item/agentMessage/delta":
		x.say(n.ItemID, n.Delta, source)
	case "item/reasoning/summaryTextDelta", "item/reasoning/textDelta":
		x.think(n.ItemID, n.Delta, source)
	case "item/reasoning/summaryPartAdded":
		if n.SummaryIndex > 0 {
			x.think(n.ItemID, "\n\n", source)
		}
	case "item/started":
		return x.begun(&n.Item, source)
	case "item/completed":
		return x.completed(&n.Item, source)
	case "item/commandExecution/outputDelta", "item/fileChange/outputDelta":
		x.output(n.ItemID, n.Delta, source)
	case "thread/tokenUsage/updated":
		x.spend(n, source)
	case "error":
		x.fault(n, source)
	default:
		return false
	}
	return true
}

// say reports a piece of a message.
func (x *translation) say(id, text string, source guest.Source) {
	if text == "" {
		return
	}
	if id != x.message {
		x.message = id
		x.text.Reset()
	}
	x.told[id] = true
	if room := maxAnswer - x.text.Len(); room > 0 {
		x.text.WriteString(text[:min(room, len(text))])
	}
	x.sink.Delta(text, false, source)
}

func (x *translation) think(id, text string, source guest.Source) {
	if text == "" {
		return
	}
	x.told[id] = true
	x.sink.Delta(text, true, source)
}

// answer is the agent's last message.
func (x *translation) answer() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return strings.ToValidUTF8(x.text.String(), "") // its end may be cut inside a code point
}

// begun takes the start of an item. What the hook has seen is known already.
func (x *translation) begun(i *item, source guest.Source) bool {
	name, kind, input := i.tool()
	if name == "" {
		return i.silent()
	}
	x.see(i.ID, name, kind, input, source)
	return true
}

// completed takes the end of an item; a message that came in no pieces is said
// whole.
func (x *translation) completed(i *item, source guest.Source) bool {
	name, kind, input := i.tool()
	switch {
	case name != "":
		x.complete(x.see(i.ID, name, kind, input, source), i.ok(), i.summary(), i.ExitCode, source)
	case i.Type == "agentMessage":
		if !x.told[i.ID] {
			x.say(i.ID, i.Text, source)
		}
	default:
		return i.silent()
	}
	return true
}

// silent says whether an item needs no entry: what it tells is told in pieces, or
// by us.
func (i *item) silent() bool {
	return i.Type == "userMessage" || i.Type == "reasoning" || i.Type == "agentMessage"
}

// see gives the tool call of an id and reports its start at first sight.
func (x *translation) see(id, name, kind string, input json.RawMessage, source guest.Source) *tool {
	if t := x.tools[id]; t != nil {
		return t
	}
	t := &tool{id: id, seen: time.Now()}
	x.tools[id] = t
	x.order = append(x.order, t)
	x.sink.ToolStarted(event.ToolStarted{ToolCallID: id, Name: name, Input: input, Kind: kind}, source)
	return t
}

// asked is see for a call that the hook tells of; false when the turn is over.
func (x *translation) asked(id, name, kind string, input json.RawMessage, source guest.Source) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.over {
		x.see(id, name, kind, input, source)
	}
	return !x.over
}

// refused reports the end of a call that is not made.
func (x *translation) refused(id, why string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if t := x.tools[id]; t != nil && !x.over {
		x.complete(t, false, why, nil, guest.Source{})
	}
}

// output logs what a command writes while it runs.
func (x *translation) output(id, text string, source guest.Source) {
	t := x.tools[id]
	if t == nil {
		return
	}
	if text = t.fresh(text); text != "" {
		x.sink.Log(event.Log{Level: "debug", Message: "tool output", Fields: map[string]any{"tool_call_id": id, "output": text}}, guest.Source{Type: source.Type})
	}
}

func (x *translation) complete(t *tool, ok bool, summary string, code *int, source guest.Source) {
	if t.done {
		return
	}
	t.done = true
	if n, known := x.noted(t.id); known {
		ok, summary, code = n.ok, n.summary, nil
	}
	x.sink.ToolCompleted(event.ToolCompleted{
		ToolCallID: t.id, OK: ok, DurationMS: time.Since(t.seen).Milliseconds(), Summary: tail(summary), ExitCode: code,
	}, source)
}

// resolved reports the end of calls that were answered: Codex says no more than
// that it has the answer.
func (x *translation) resolved() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, t := range x.order {
		if n, known := x.noted(t.id); known && n.last && !x.over {
			x.complete(t, n.ok, n.summary, nil, guest.Source{})
		}
	}
}

// finish reports the end of every call that was left open. That it succeeded was
// not observed.
func (x *translation) finish(completed bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	why := "the turn ended before the call did"
	if completed {
		why = "the agent reported no result"
	}
	for _, t := range x.order {
		if !t.done {
			x.complete(t, false, why, nil, guest.Source{})
		}
	}
}

// fault logs an error after which Codex tries again; the last one comes with the
// end of the turn.
func (x *translation) fault(n *notice, source guest.Source) {
	if n.Error == nil || !n.WillRetry {
		return
	}
	text := said(n.Error.Message)
	if n.Error.Details != "" {
		text += ": " + n.Error.Details
	}
	x.sink.Log(event.Log{Level: "warn", Message: "the model did not answer, and is asked again: " + text, Fields: map[string]any{"reason": "model_retry"}}, source)
}
