package screen

import (
	tea "charm.land/bubbletea/v2"
)

// key does what a key is for.
func (m *Model) key(msg tea.KeyPressMsg) tea.Cmd {
	switch msg.String() {
	case "ctrl+c":
		return m.interrupt()
	case "ctrl+z":
		return tea.Suspend
	case "ctrl+l":
		return tea.ClearScreen
	case "pgup":
		return m.scrollBy(m.page())
	case "pgdown":
		return m.scrollBy(-m.page())
	case "ctrl+o":
		m.toggleLast()
		return nil
	}
	switch m.focus {
	case onBrowsing:
		return m.browse(msg.String())
	case onAsk:
		if msg.String() == "tab" {
			m.startBrowsing()
			return nil
		}
		return m.askKey(msg)
	case onReason, onField:
		return m.borrowedKey(msg)
	default:
		return m.inputKey(msg)
	}
}

// inputKey is a key while a prompt is typed.
func (m *Model) inputKey(msg tea.KeyPressMsg) tea.Cmd {
	switch msg.String() {
	case "enter":
		return m.submit()
	case "ctrl+d":
		if m.input.Value() == "" {
			return m.leave(Detached, nil)
		}
	case "ctrl+x":
		return m.cancelLast()
	case "tab":
		if _, asks := m.current(); asks {
			m.focus = onAsk
		} else {
			m.startBrowsing()
		}
		return nil
	case "esc":
		m.notice, m.view.scroll = notice{}, 0
		if _, asks := m.current(); asks {
			m.focus = onAsk
		}
		return nil
	case "up":
		if m.input.Line() == 0 && m.input.LineInfo().RowOffset == 0 {
			m.recall(1)
			return nil
		}
	case "down":
		if m.recalled > 0 && m.input.Line() == m.input.LineCount()-1 {
			m.recall(-1)
			return nil
		}
	}
	var cmd tea.Cmd
	m.input, cmd = m.input.Update(msg)
	return cmd
}

// interrupt is Ctrl-C: it cancels the run that works, and a second one leaves.
func (m *Model) interrupt() tea.Cmd {
	now := m.now()
	if now.Sub(m.armed) < armedFor || m.cancelling != "" {
		return m.leave(Detached, nil)
	}
	m.armed = now
	if r := m.talk.Run; r != nil {
		m.cancelling = r.ID
		m.say("cancelling the run …  Ctrl-C again leaves")
		return m.cancelRun(r.ID)
	}
	m.say("Ctrl-C again leaves; " + m.talk.Session.Name + " lives on")
	return nil
}

// cancelLast takes back the prompt that came last of those that wait.
func (m *Model) cancelLast() tea.Cmd {
	if n := len(m.talk.Queue); n > 0 {
		return m.cancelQueued(m.talk.Queue[n-1].Run, m.talk.Queue[n-1].Text)
	}
	m.say("no prompt waits")
	return nil
}

// startBrowsing chooses the newest line that can be unfolded or cancelled.
func (m *Model) startBrowsing() {
	stops := m.stops()
	if len(stops) == 0 {
		m.say("there is nothing to unfold yet")
		return
	}
	m.focus = onBrowsing
	m.view.chosen = stops[len(stops)-1]
	m.reveal()
}

// browse moves through the conversation.
func (m *Model) browse(key string) tea.Cmd {
	stops := m.stops()
	at := 0
	for i, s := range stops {
		if s == m.view.chosen {
			at = i
		}
	}
	switch key {
	case "up", "k":
		at--
	case "down", "j":
		at++
	case "home", "g":
		at = 0
	case "end", "G":
		at = len(stops) - 1
	case "enter", "space", " ":
		m.view.open[m.view.chosen] = !m.view.open[m.view.chosen]
	case "a":
		m.toggleAll(stops)
	case "x", "delete":
		for _, q := range m.talk.Queue {
			if queueKey(q.Run) == m.view.chosen {
				return m.cancelQueued(q.Run, q.Text)
			}
		}
	case "esc", "tab", "q":
		m.focus, m.view.chosen, m.view.scroll = onInput, "", 0
		return nil
	}
	if len(stops) == 0 {
		m.focus, m.view.chosen = onInput, ""
		return nil
	}
	if at < 0 {
		at = 0
		defer m.reveal()
		return m.readBack()
	}
	m.view.chosen = stops[min(at, len(stops)-1)]
	m.reveal()
	return nil
}

// toggleAll unfolds everything, or folds it when all is unfolded.
func (m *Model) toggleAll(stops []string) {
	open := true
	for _, s := range stops {
		open = open && m.view.open[s]
	}
	for _, s := range stops {
		m.view.open[s] = !open
	}
}

// toggleLast unfolds what the newest tool did, or folds it.
func (m *Model) toggleLast() {
	stops := m.foldable()
	if len(stops) == 0 {
		m.say("there is nothing to unfold yet")
		return
	}
	last := stops[len(stops)-1]
	m.view.open[last] = !m.view.open[last]
}

// scrollBy moves the view: n > 0 back into the past.
func (m *Model) scrollBy(n int) tea.Cmd {
	most := max(0, m.contentHeight()-m.viewHeight())
	m.view.scroll = max(0, min(m.view.scroll+n, most))
	if n > 0 && m.view.scroll == most {
		return m.readBack()
	}
	return nil
}

// page is how far PgUp goes: two lines stay in sight.
func (m *Model) page() int { return max(1, m.viewHeight()-2) }

// wheelLines is how far one step of a mouse wheel goes.
const wheelLines = 3

func (m *Model) wheel(msg tea.MouseWheelMsg) tea.Cmd {
	switch msg.Button {
	case tea.MouseWheelUp:
		return m.scrollBy(wheelLines)
	case tea.MouseWheelDown:
		return m.scrollBy(-wheelLines)
	}
	return nil
}

// click unfolds what was clicked at, or folds it.
func (m *Model) click(msg tea.MouseClickMsg) {
	rows, _ := m.transcript()
	if msg.Button != tea.MouseLeft || msg.Y >= len(rows) {
		return
	}
	if key := rows[msg.Y].key; key != "" {
		m.view.open[key] = !m.view.open[key]
	}
}
