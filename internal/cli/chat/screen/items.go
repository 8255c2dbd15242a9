package screen

import (
	"strconv"
	"strings"

	"paddock/internal/cli/chat"
	"paddock/internal/cli/chat/markdown"
	"paddock/internal/cli/chat/styled"
)

// transcript is how the conversation is looked at.
type transcript struct {
	scroll   int             // lines from the end
	chosen   string          // key of what is chosen; empty: nothing
	open     map[string]bool // what is unfolded, by key
	laid     map[string]*laidOut
	markdown markdown.Renderer
}

// laidOut is an item in lines, and of what these were made.
type laidOut struct {
	version, width int
	open, chosen   bool
	lines          []styled.Line
	stream         *markdown.Stream
}

// lines lays an item out, unless it has been.
func (m *Model) lines(item *chat.Item) []styled.Line {
	l := m.view.laid[item.Key]
	if l == nil {
		l = &laidOut{version: -1}
		m.view.laid[item.Key] = l
	}
	open, chosen := m.view.open[item.Key], m.view.chosen == item.Key
	moving := item.Tool != nil && item.Tool.Open() // says how long it has lasted
	if l.version == item.Version && l.width == m.width && l.open == open && l.chosen == chosen && !moving {
		return l.lines
	}
	l.version, l.width, l.open, l.chosen = item.Version, m.width, open, chosen
	l.lines = m.layOut(item, l)
	return l.lines
}

func (m *Model) layOut(item *chat.Item, l *laidOut) []styled.Line {
	left := plainText(margin)
	room := max(1, m.width-len(margin))
	switch item.Kind {
	case chat.Prompt:
		text := styled.Text(strings.TrimSpace(item.Text), styled.Style{Look: styled.Bold})
		return styled.Indent(styled.Wrap(text, room), accent("› "), left)
	case chat.Answer:
		if l.stream == nil {
			l.stream = markdown.NewStream(m.view.markdown)
		}
		return styled.Indent(l.stream.Lines(item.Text, room), left, left)
	case chat.Thought:
		return m.thought(item, l)
	case chat.Call:
		return m.call(item, l)
	case chat.End:
		return m.end(item)
	default:
		mark, style := faint("  · "), styled.Style{Look: styled.Faint}
		if item.Grim {
			mark, style = colored("  ! ", styled.Warn), styled.Style{Color: styled.Warn}
		}
		return styled.Indent(styled.Wrap(styled.Text(item.Text, style), max(1, m.width-4)), mark, plainText("    "))
	}
}

// fold is the mark of what can be unfolded.
func fold(l *laidOut) styled.Line {
	mark := "  ▸ "
	if l.open {
		mark = "  ▾ "
	}
	if l.chosen {
		return styled.Text("›"+mark[1:], styled.Style{Color: styled.Accent, Look: styled.Bold})
	}
	return faint(mark)
}

func (m *Model) thought(item *chat.Item, l *laidOut) []styled.Line {
	style := styled.Style{Look: styled.Faint | styled.Italic}
	text := strings.TrimSpace(item.Text)
	if l.open {
		bar := faint("    │ ")
		lines := styled.Indent(styled.Wrap(styled.Text(text, style), max(1, m.width-6)), bar, bar)
		return append([]styled.Line{append(fold(l), faint("thought")...)}, lines...)
	}
	gist, _, _ := strings.Cut(text, "\n")
	return []styled.Line{cat(fold(l), faint("thought  "), styled.Text(gist, style)).Fit(m.width)}
}

// call is a tool call: one line, or with its input and output.
func (m *Model) call(item *chat.Item, l *laidOut) []styled.Line {
	t := item.Tool
	name := t.Name
	if name == "" {
		name = "tool"
	}
	lines := []styled.Line{styled.Apart(cat(fold(l), bold(name), plainText("  "), plainText(t.Gist)), m.outcome(t), m.width)}
	if !l.open {
		return lines
	}
	bar := faint("    │ ")
	room := max(1, m.width-6)
	if t.Input != "" {
		lines = append(lines, styled.Indent(styled.Break(styled.Text(t.Input, styled.Style{Color: styled.Code}), room), bar, bar)...)
	}
	if t.Output != "" {
		if t.Input != "" {
			lines = append(lines, bar)
		}
		lines = append(lines, styled.Indent(styled.Break(plainText(t.Output), room), bar, bar)...)
	}
	if t.Input+t.Output == "" {
		lines = append(lines, cat(bar, faint("no output")))
	}
	return lines
}

// outcome says how a tool call stands.
func (m *Model) outcome(t *chat.Tool) styled.Line {
	reason := ""
	if t.Reason != "" {
		reason = ": " + t.Reason
	}
	switch t.State {
	case chat.Working:
		return colored("… "+ticking(m.now().Sub(t.Started)), styled.Accent)
	case chat.Asking:
		return colored("waits for you", styled.Warn)
	case chat.Done:
		return faint(lasted(t.Took))
	case chat.Rejected:
		return styled.Text("rejected"+reason, styled.Style{Color: styled.Warn}).Fit(m.width / 2)
	case chat.Denied:
		return styled.Text("✗ denied"+reason, styled.Style{Color: styled.Bad}).Fit(m.width / 2)
	case chat.Stopped:
		return faint("stopped")
	}
	how := "failed"
	if t.ExitCode != nil {
		how = "exit code " + strconv.Itoa(*t.ExitCode)
	}
	return cat(colored("✗ "+how, styled.Bad), faint(" · "+lasted(t.Took)))
}

// end says how a turn ended.
func (m *Model) end(item *chat.Item) []styled.Line {
	r := item.Turn
	took := lasted(r.Ended.Sub(r.Started))
	used := spent(r.In, r.Out, r.CostMicros)
	if used != "" {
		used = " · " + used
	}
	switch {
	case r.Cancelled:
		text := "cancelled after " + took
		if item.Text != "" {
			text += ": " + item.Text
		}
		return styled.Indent(styled.Wrap(colored(text, styled.Warn), max(1, m.width-4)), colored("  ■ ", styled.Warn), plainText("    "))
	case r.Failed:
		text := "failed after " + took + ": " + item.Text
		return styled.Indent(styled.Wrap(colored(text, styled.Bad), max(1, m.width-4)), colored("  ✗ ", styled.Bad), plainText("    "))
	}
	return []styled.Line{faint(margin + took + used).Fit(m.width)}
}

// apart says whether a blank line stands between two items.
func apart(before, item *chat.Item) bool {
	if item.Kind == chat.End {
		return false
	}
	return !small(before) || !small(item)
}

// small says whether an item is a line among others of its like.
func small(item *chat.Item) bool {
	return item.Kind == chat.Call || item.Kind == chat.Thought || item.Kind == chat.Note
}

// foldable are the keys of what can be unfolded, in order.
func (m *Model) foldable() []string {
	var keys []string
	for _, item := range m.talk.Items {
		if item.Kind == chat.Call || item.Kind == chat.Thought {
			keys = append(keys, item.Key)
		}
	}
	return keys
}

// stops are the keys of what can be chosen, in order.
func (m *Model) stops() []string {
	keys := m.foldable()
	for _, q := range m.talk.Queue {
		keys = append(keys, queueKey(q.Run))
	}
	return keys
}

func queueKey(run string) string { return "queue " + run }
