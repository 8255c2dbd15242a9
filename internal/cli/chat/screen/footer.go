package screen

import (
	"fmt"
	"strconv"
	"strings"

	"paddock/client"
	"paddock/internal/cli/chat"
	"paddock/internal/cli/chat/styled"
	"paddock/internal/plain"
)

// small screens do without the line of keys.
const smallHeight = 14

// footer is what stands above and below the input.
func (m *Model) footer() (above, below []styled.Line) {
	above = append(m.question(), m.queue()...)
	if m.view.scroll > 0 {
		above = append(above, faint(fmt.Sprintf("  ↓ %s below; PgDn", lineCount(m.view.scroll))))
	}
	if text := m.notice.text; text != "" && (m.notice.grim || m.now().Sub(m.notice.at) < noticeFor) {
		above = append(above, m.sentence(text)...)
	}
	above = append(above, faint(strings.Repeat("─", m.width)))
	below = append(below, m.status())
	if m.height >= smallHeight {
		below = append(below, faint(margin+m.help()).Fit(m.width))
	}
	return above, below
}

func lineCount(n int) string {
	if n == 1 {
		return "1 line"
	}
	return strconv.Itoa(n) + " lines"
}

// sentence shows a notice in at most three lines.
func (m *Model) sentence(text string) []styled.Line {
	style, mark := styled.Style{Look: styled.Faint}, "  · "
	if m.notice.grim {
		style, mark = styled.Style{Color: styled.Warn}, "  ! "
	}
	lines := styled.Wrap(styled.Text(plain.Clean(text), style), max(1, m.width-4))
	return styled.Indent(lines[:min(3, len(lines))], styled.Text(mark, style), plainText("    "))
}

// queue shows the inputs that wait.
func (m *Model) queue() []styled.Line {
	var lines []styled.Line
	waiting := m.talk.Queue
	if n := len(waiting); n > 0 {
		most := max(1, min(4, m.height/6))
		from := max(0, n-most)
		for i, q := range waiting[from:] {
			mark := plainText("    ")
			if m.view.chosen == queueKey(q.Run) {
				mark = accent("  › ")
			}
			lines = append(lines, cat(mark, faint(strconv.Itoa(from+i+1)+"  "), plainText(plain.CleanLine(q.Text))).Fit(m.width))
		}
		head := "  " + strconv.Itoa(n) + " queued"
		if m.focus == onInput {
			head += faintHint(m.width, " · Ctrl-X takes the last one back")
		}
		lines = append([]styled.Line{faint(head).Fit(m.width)}, lines...)
	}
	for _, l := range m.outbox {
		lines = append(lines, cat(faint("  … "), plainText(plain.CleanLine(l.text))).Fit(m.width))
	}
	return lines
}

// faintHint is a hint where there is room for it.
func faintHint(width int, text string) string {
	if width < 60 {
		return ""
	}
	return text
}

// status says who one talks with and how it stands.
func (m *Model) status() styled.Line {
	who := cat(plainText(margin), bold(m.talk.Session.Name), faint(" · "+m.talk.Session.Agent))
	if m.talk.Model != "" {
		who = append(who, faint(" · "+m.talk.Model)...)
	}
	return styled.Apart(who, m.state(), m.width)
}

func (m *Model) state() styled.Line {
	how := m.standing()
	r := m.talk.Run
	if r == nil {
		r = m.talk.Last
	}
	if r != nil && m.width >= 60 {
		if text := spent(r.In, r.Out, r.CostMicros); text != "" {
			how = append(faint(text+" · "), how...)
		}
	}
	return how
}

func (m *Model) standing() styled.Line {
	s := m.talk.Session
	switch {
	case m.link == reconnecting:
		return colored("reconnecting …", styled.Warn)
	case m.link == catchingUp:
		return faint("reading history …")
	case m.cancelling != "":
		return colored("cancelling …", styled.Warn)
	case m.talk.Waiting():
		return colored("waits for you", styled.Warn)
	case m.talk.Run != nil:
		text := "running " + ticking(m.now().Sub(m.talk.Run.Started))
		if s.PausePending {
			text += ", then paused"
		}
		return colored(text, styled.Accent)
	case s.Terminal != "":
		return colored("ended", styled.Bad)
	case s.Status == client.SessionPaused:
		text := "paused"
		if s.PauseReason != "" {
			text += " (" + strings.ReplaceAll(s.PauseReason, "_", " ") + ")"
		}
		if len(m.outbox) > 0 {
			text = "waking …"
		}
		return colored(text, styled.Warn)
	case s.Status == client.SessionUpdating:
		return colored("is restored …", styled.Warn)
	}
	return colored("ready", styled.Good)
}

// help says which keys do something now.
func (m *Model) help() string {
	switch m.focus {
	case onBrowsing:
		return "↑↓ choose · Enter unfold · a all · x cancel a queued prompt · Esc back"
	case onAsk:
		return "Esc type a prompt · Tab look at what tools did · Ctrl-C cancel the run"
	case onReason:
		return "Enter refuse, with this reason or none · Esc back"
	case onField:
		return "Enter answer · Esc back"
	}
	switch {
	case m.talk.Waiting():
		return "Tab answer the question · Enter send · Ctrl-C cancel the run"
	case m.talk.Session.Terminal != "":
		return "it takes no more input · Tab unfold · PgUp back · Ctrl-D leave"
	case m.talk.Session.Status == client.SessionPaused && m.input.Value() == "":
		return "what you send wakes it · Tab unfold · PgUp back · Ctrl-D leave"
	case m.talk.Run != nil:
		return "Enter queue a prompt · Tab unfold · Ctrl-C cancel the run"
	}
	return "Enter send · Alt-Enter new line · Tab unfold · PgUp back · Ctrl-D leave"
}

// question shows what is asked now, and how to answer.
func (m *Model) question() []styled.Line {
	ask, ok := m.current()
	if !ok {
		return nil
	}
	bar := colored("▌ ", styled.Warn)
	room := max(1, m.width-2)
	place := ""
	if n := len(m.talk.Asks); n > 1 {
		place = "1 of " + strconv.Itoa(n)
	}
	title, body := m.asked(ask)
	lines := []styled.Line{styled.Apart(bold(title), faint(place), room)}
	most := max(1, m.height/3-2)
	text := styled.Break(styled.Text(body, styled.Style{Color: styled.Code}), max(1, room-2))
	if len(text) > most {
		rest := len(text) - most
		text = append(text[:most:most], faint(fmt.Sprintf("… %s more: Tab, Enter show them", lineCount(rest))))
	}
	if body != "" {
		lines = append(lines, styled.Indent(text, plainText(margin), plainText(margin))...)
	}
	return styled.Indent(append(lines, m.answers(ask, room)...), bar, bar)
}

// asked puts a question in words: what the agent wants, and exactly what.
func (m *Model) asked(ask chat.Ask) (title, body string) {
	d := ask.Details
	who := plain.CleanLine(d.Tool)
	if who == "" {
		who = m.talk.Session.Agent
	}
	switch {
	case d.Question != "":
		return m.talk.Session.Agent + " asks", plain.Exact(d.Question)
	case d.Command != "":
		return who + " wants to run", plain.Exact(d.Command)
	case d.Path != "":
		return who + " wants to touch " + plain.Exact(d.Path), m.more(ask)
	default:
		return who + " wants to go on", plain.Exact(d.Title)
	}
}

// more is the input of the tool that asks, beside the path.
func (m *Model) more(ask chat.Ask) string {
	for _, item := range m.talk.Items {
		if item.Key == ask.Tool && item.Tool != nil {
			return item.Tool.Input
		}
	}
	return ""
}

// answers says how a question can be answered now.
func (m *Model) answers(ask chat.Ask, width int) []styled.Line {
	question := ask.Details.Question != ""
	field := m.ask.fields[min(m.ask.at, len(m.ask.fields)-1)]
	switch {
	case m.ask.sent == ask.ID:
		return []styled.Line{faint("answering …")}
	case m.focus == onReason:
		return []styled.Line{faint("Why not? The agent is told.").Fit(width)}
	case m.focus == onField:
		return []styled.Line{faint(field.Title + ":").Fit(width)}
	case m.focus != onAsk:
		return []styled.Line{faint("Tab, then answer by a key").Fit(width)}
	case !question:
		return []styled.Line{cat(accent("y"), faint(" allow · "), accent("s"), faint(" session · "), accent("n"), faint(" deny · "), accent("d"), faint(" later")).Fit(width)}
	case len(field.Choices) > 0:
		var lines []styled.Line
		for i, c := range field.Choices[:min(9, len(field.Choices))] {
			lines = append(lines, cat(plainText(margin), accent(strconv.Itoa(i+1)), plainText(" "+plain.CleanLine(c))).Fit(width))
		}
		return append(lines, cat(faint(field.Title+": "), accent("1"), faint(".."), accent("9"), faint(" · "), accent("n"), faint(" refuse · "), accent("d"), faint(" later")).Fit(width))
	}
	return []styled.Line{cat(accent("Enter"), faint(" answer · "), accent("n"), faint(" refuse · "), accent("d"), faint(" later")).Fit(width)}
}
