package claude

import (
	"strings"
	"sync"
	"time"

	"paddock/internal/event"
	"paddock/internal/guest"
)

// maxAnswer is how much of the final answer is kept, in bytes.
const maxAnswer = 64 << 10

// translation turns what the agent says in one turn into reports.
type translation struct {
	turn  *turn
	tools map[string]*tool
	order []*tool

	mu       sync.Mutex // held while a frame is translated
	over     bool       // the turn has ended: later frames are not its own
	streamed string     // id of the message that came in pieces
	text     strings.Builder
	previous string // the text before the last tool call
}

// close ends the translation: a frame that is being translated has been when it
// returns, and none is after that.
func (x *translation) close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.over = true
}

// take translates one frame; false when it is no part of the turn.
func (x *translation) take(f frame) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.over {
		return false
	}
	source := guest.Source{Type: f.kind(), Raw: f.raw}
	switch f.Type {
	case "stream_event":
		x.piece(f, source)
	case "assistant":
		x.said(f, source)
	case "user":
		x.told(f, source)
	}
	return true
}

// piece translates a piece of the model's stream. Those of subagents are signs
// of life.
func (x *translation) piece(f frame, source guest.Source) {
	var e streamEvent
	if !decode(f.Event, &e) || f.ofSubagent() {
		x.turn.sink.Alive(source)
		return
	}
	source.Type = "stream_event/" + e.Type
	switch {
	case e.Type == "message_start":
		x.streamed = e.Message.ID
		x.turn.insist()
	case e.Delta.Type == "text_delta":
		x.speak(e.Delta.Text, false, source)
		return
	case e.Delta.Type == "thinking_delta":
		x.speak(e.Delta.Thinking, true, source)
		return
	}
	x.turn.sink.Alive(source)
}

func (x *translation) speak(text string, thought bool, source guest.Source) {
	if text == "" {
		return
	}
	if !thought {
		if room := maxAnswer - x.text.Len(); room > 0 {
			x.text.WriteString(text[:min(room, len(text))])
		}
	}
	x.turn.sink.Delta(text, thought, source)
}

// said translates a whole message of the model: its tool calls, and its words
// where they did not come in pieces.
func (x *translation) said(f frame, source guest.Source) {
	var m message
	if !decode(f.Message, &m) {
		return
	}
	silent := f.ofSubagent() || f.APIError || m.ID != "" && m.ID == x.streamed
	for _, b := range blocks(m.Content) {
		switch b.Type {
		case "text":
			if !silent {
				x.speak(b.Text, false, source)
			}
		case "thinking":
			if !silent {
				x.speak(b.Thinking, true, source)
			}
		case "tool_use":
			if b.ID != "" {
				x.see(b.ID, b.Name, b.Input, source)
			}
		}
	}
	x.turn.sink.Alive(guest.Source{Type: source.Type})
}

// told translates what the model is told: what its tools gave. Our own prompt
// comes back when the agent begins with it.
func (x *translation) told(f frame, source guest.Source) {
	if f.IsReplay {
		x.turn.begin()
	}
	var m message
	if !decode(f.Message, &m) {
		return
	}
	for _, b := range blocks(m.Content) {
		if t := x.tools[b.ToolUseID]; b.Type == "tool_result" && t != nil {
			x.complete(t, !b.IsError, textOf(b.Content), source)
		}
	}
	x.turn.sink.Alive(guest.Source{Type: source.Type})
}

// see gives the tool call of an id and reports its start at first sight.
func (x *translation) see(id, name string, input []byte, source guest.Source) *tool {
	if t := x.tools[id]; t != nil {
		return t
	}
	t := &tool{id: id, name: name, input: input, seen: time.Now()}
	x.tools[id] = t
	x.order = append(x.order, t)
	if s := x.text.String(); strings.TrimSpace(s) != "" {
		x.previous = s
	}
	x.text.Reset()
	x.turn.sink.ToolStarted(event.ToolStarted{ToolCallID: id, Name: name, Input: input, Kind: t.kind()}, source)
	return t
}

// asked reports the start of a call that a question is about, unless it was
// reported; false when the turn is over.
func (x *translation) asked(id, name string, input []byte, source guest.Source) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.over {
		return false
	}
	x.see(id, name, input, source)
	return true
}

func (x *translation) complete(t *tool, ok bool, output string, source guest.Source) {
	if t.done {
		return
	}
	t.done = true
	since := t.seen
	if at, allowed := x.turn.allowedAt(t.id); allowed {
		since = at
	}
	x.turn.sink.ToolCompleted(event.ToolCompleted{
		ToolCallID: t.id, OK: ok, DurationMS: time.Since(since).Milliseconds(), Summary: summary(output), ExitCode: t.exitCode(ok, output),
	}, source)
}

// finish reports the end of every tool call that the agent left open. That it
// succeeded was not observed.
func (x *translation) finish(why string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, t := range x.order {
		x.complete(t, false, why, guest.Source{})
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
