package screen

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"paddock/internal/cli/chat/styled"
)

// row is a line of the conversation.
type row struct {
	line styled.Line
	key  string // of what a click on it unfolds
}

// View is what the screen shows.
func (m *Model) View() tea.View {
	rows, _ := m.transcript()
	lines := make([]string, 0, m.height)
	for _, r := range rows {
		lines = append(lines, r.line.Fit(m.width).String())
	}
	for len(lines) < m.viewHeight() {
		lines = append(lines, "")
	}
	above, below := m.footer()
	for _, l := range above {
		lines = append(lines, l.Fit(m.width).String())
	}
	top := len(lines)
	lines = append(lines, strings.Split(m.input.View(), "\n")...)
	for _, l := range below {
		lines = append(lines, l.Fit(m.width).String())
	}
	if len(lines) > m.height { // a terminal of a few lines: the input stays
		cut := min(len(lines)-m.height, top)
		lines, top = lines[cut:], top-cut
	}
	view := tea.NewView(strings.Join(lines, "\n"))
	view.AltScreen = true
	view.MouseMode = tea.MouseModeCellMotion
	if m.typing() {
		if c := m.input.Cursor(); c != nil {
			c.Y += top
			view.Cursor = c
		}
	}
	return view
}

// viewHeight is how many lines the conversation has.
func (m *Model) viewHeight() int {
	above, below := m.footer()
	return max(0, m.height-len(above)-m.input.Height()-len(below))
}

// block gives an item's rows, with the blank line before it.
func (m *Model) block(i int) []row {
	item := m.talk.Items[i]
	lines := m.lines(item)
	rows := make([]row, 0, len(lines)+1)
	if i > 0 && apart(m.talk.Items[i-1], item) {
		rows = append(rows, row{})
	}
	for n, l := range lines {
		r := row{line: l}
		if n == 0 && item.Tool != nil || item.Kind == "thought" && n == 0 {
			r.key = item.Key
		}
		rows = append(rows, r)
	}
	return rows
}

// blockHeight is how many rows that are.
func (m *Model) blockHeight(i int) int {
	n := len(m.lines(m.talk.Items[i]))
	if i > 0 && apart(m.talk.Items[i-1], m.talk.Items[i]) {
		n++
	}
	return n
}

// contentHeight is how many rows the whole conversation has.
func (m *Model) contentHeight() int {
	n := 0
	for i := range m.talk.Items {
		n += m.blockHeight(i)
	}
	return n
}

// transcript gives the rows in sight, and whether there is more below.
func (m *Model) transcript() (rows []row, more bool) {
	height := m.viewHeight()
	if len(m.talk.Items) == 0 {
		return m.welcome(height), false
	}
	skip := m.view.scroll
	need := height + skip
	var blocks [][]row
	got := 0
	for i := len(m.talk.Items) - 1; i >= 0 && got < need; i-- {
		// A block that is wholly below what is in sight need not be made.
		if n := m.blockHeight(i); skip >= n && len(blocks) == 0 {
			skip -= n
			need -= n
			continue
		}
		b := m.block(i)
		blocks = append(blocks, b)
		got += len(b)
	}
	slices.Reverse(blocks)
	rows = slices.Concat(blocks...)
	rows = rows[:max(0, len(rows)-skip)]
	if len(rows) > height {
		rows = rows[len(rows)-height:]
	}
	return rows, m.view.scroll > 0
}

// welcome fills the screen of a conversation that has not begun.
func (m *Model) welcome(height int) []row {
	if m.link != live {
		return nil
	}
	text := "Say something to " + m.talk.Session.Agent + "; it works in the session " + m.talk.Session.Name + "."
	var rows []row
	for _, l := range styled.Indent(styled.Wrap(faint(text), max(1, m.width-2)), plainText(margin), plainText(margin)) {
		rows = append(rows, row{line: l})
	}
	return rows[:min(len(rows), height)]
}

// reveal scrolls to what is chosen.
func (m *Model) reveal() {
	below := 0
	for i := len(m.talk.Items) - 1; i >= 0; i-- {
		n := m.blockHeight(i)
		if m.talk.Items[i].Key != m.view.chosen {
			below += n
			continue
		}
		height := m.viewHeight()
		top := below + n
		if m.view.scroll > top-min(n, height) {
			m.view.scroll = max(0, top-min(n, height))
		}
		if m.view.scroll+height < top {
			m.view.scroll = top - height
		}
		return
	}
	m.view.scroll = 0
}
