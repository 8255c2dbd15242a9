package acp

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"paddock/internal/event"
	"paddock/internal/guest"
)

// maxAnswer is how much of the final answer is kept, in bytes.
const maxAnswer = 64 << 10

// translation turns the updates of one turn into reports.
type translation struct {
	sink   guest.Sink
	spoken bool // see spoken
	tools  map[string]*tool
	order  []*tool

	mu       sync.Mutex // held while an update is translated
	over     bool       // the turn has ended: later updates are not its own
	text     strings.Builder
	previous string // the text before the last tool call
	speech   joiner
	thought  joiner
	spend    *update // the last usage_update

	complaint string // the last piece of text, if it was an error
}

func newTranslation(sink guest.Sink) translation {
	return translation{sink: sink, tools: map[string]*tool{}}
}

// close ends the translation: an update that is being translated has been when
// it returns, and none is after that.
func (x *translation) close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.over = true
}

// update translates one session/update; false when it is no part of the turn,
// or of a kind that has no event of its own.
func (x *translation) update(u update, raw []byte) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.over {
		return false
	}
	source := guest.Source{Type: u.Kind, Raw: raw}
	switch u.Kind {
	case "agent_message_chunk":
		return x.chunk(u, source, false)
	case "agent_thought_chunk":
		return x.chunk(u, source, true)
	case "user_message_chunk":
		return true // our own words
	case "tool_call", "tool_call_update":
		if u.ToolCallID == "" {
			return false
		}
		x.toolUpdate(u, source)
		return true
	case "usage_update":
		x.spend = &u
		return true
	}
	return false
}

func (x *translation) chunk(u update, source guest.Source, thought bool) bool {
	block := asObject(u.Content)
	if asString(block["type"]) != "text" {
		return false
	}
	join := &x.speech
	if thought {
		join = &x.thought
	}
	text := join.add(block["text"])
	if !thought {
		if x.aside(text, source) {
			return true
		}
		x.remember(text)
	}
	if text != "" {
		x.sink.Delta(text, thought, source)
	}
	return true
}

func (x *translation) remember(text string) {
	if room := maxAnswer - x.text.Len(); room > 0 {
		x.text.WriteString(text[:min(room, len(text))])
	}
}

// answer is the agent's last text: what it said after its last tool call, or
// before, when it said nothing after.
func (x *translation) answer() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	s := x.text.String()
	if strings.TrimSpace(s) == "" {
		s = x.previous
	}
	return strings.ToValidUTF8(s, "") // its end may be cut inside a code point
}

func (x *translation) toolUpdate(u update, source guest.Source) {
	t := x.see(u, source)
	x.learn(t, u, source)
	switch u.Status {
	case "in_progress":
		if t.began.IsZero() {
			t.began = time.Now()
		}
	case "completed", "failed":
		x.complete(t, u.Status == "completed", "", source)
		return
	}
	if fresh := t.freshOutput(); fresh != "" {
		x.sink.Log(event.Log{Level: "debug", Message: "tool output", Fields: map[string]any{"tool_call_id": t.id, "output": fresh}},
			guest.Source{Type: source.Type})
	}
}

// see gives the tool call of an id and reports its start at first sight.
func (x *translation) see(u update, source guest.Source) *tool {
	if t := x.tools[u.ToolCallID]; t != nil {
		return t
	}
	t := &tool{id: u.ToolCallID, seen: time.Now()}
	t.learn(u)
	t.called = t.label()
	x.tools[t.id] = t
	x.order = append(x.order, t)
	if x.over {
		return t
	}
	if s := x.text.String(); strings.TrimSpace(s) != "" {
		x.previous = s
	}
	x.text.Reset()
	x.sink.ToolStarted(event.ToolStarted{ToolCallID: t.id, Name: t.called, Input: t.input, Kind: t.kind}, source)
	return t
}

// asked is see for a tool call that comes with a permission request.
func (x *translation) asked(u update, source guest.Source) *tool {
	x.mu.Lock()
	defer x.mu.Unlock()
	t := x.see(u, source)
	x.learn(t, u, source)
	return t
}

// learn takes over what an update says of a call whose start was reported. Some
// agents tell the input only then: the history must have it.
func (x *translation) learn(t *tool, u update, source guest.Source) {
	if t.learn(u) && !x.over {
		x.sink.Log(event.Log{Level: "debug", Message: "tool input", Fields: map[string]any{"tool_call_id": t.id, "input": bounded(t.input)}}, source)
	}
}

// bounded is a tool's input for a log entry, left to the frame where it is long.
func bounded(input json.RawMessage) any {
	if len(input) > maxSummary {
		return fmt.Sprintf("(%d bytes)", len(input))
	}
	return input
}

func (x *translation) complete(t *tool, ok bool, summary string, source guest.Source) {
	if t.done {
		return
	}
	t.done = true
	if summary == "" {
		summary = t.summary()
	}
	since := t.seen
	if !t.began.IsZero() {
		since = t.began
	}
	x.sink.ToolCompleted(event.ToolCompleted{
		ToolCallID: t.id, OK: ok, DurationMS: time.Since(since).Milliseconds(), Summary: summary, ExitCode: t.exitCode(),
	}, source)
}

// finish reports the end of every tool call that the agent left open: some say
// nothing after a rejection or a cancel. That it succeeded was not observed.
func (x *translation) finish(completed bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	why := "the turn ended before the call did"
	if completed {
		why = "the agent reported no result"
	}
	for _, t := range x.order {
		if !t.done {
			text := t.summary()
			if text == "" {
				text = why
			}
			x.complete(t, false, text, guest.Source{})
		}
	}
}

// joiner decodes text that comes in pieces. An agent that counts in UTF-16 may
// cut between the two halves of a code point; the first is held back until the
// second comes.
type joiner struct{ half string }

func (j *joiner) add(raw json.RawMessage) string {
	body, isString := strings.CutPrefix(string(raw), `"`)
	if !isString {
		return ""
	}
	body = j.half + strings.TrimSuffix(body, `"`)
	j.half = ""
	if cut := len(body) - len(`\ud83d`); cut >= 0 && isHighSurrogate(body[cut:]) && !escaped(body, cut) {
		body, j.half = body[:cut], body[cut:]
	}
	return asString(json.RawMessage(`"` + body + `"`))
}

// isHighSurrogate says whether s is \uD800 to \uDBFF.
func isHighSurrogate(s string) bool {
	s = strings.ToLower(s)
	return strings.HasPrefix(s, `\ud`) && strings.Contains("89ab", s[3:4])
}

// escaped says whether the backslash at i is itself escaped by one before it.
func escaped(s string, i int) bool {
	n := 0
	for i--; i >= 0 && s[i] == '\\'; i-- {
		n++
	}
	return n%2 == 1
}
