package screen

import (
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"paddock/internal/cli/chat"
)

// maxInput is how many lines a person may type, more than anybody wants to.
const maxInput = 10_000

func newInput() textarea.Model {
	t := textarea.New()
	t.ShowLineNumbers = false
	t.SetPromptFunc(2, func(p textarea.PromptInfo) string {
		if p.LineNumber == 0 {
			return "› "
		}
		return "  "
	})
	t.CharLimit = 0
	t.MaxContentHeight = maxInput
	t.DynamicHeight, t.MinHeight, t.MaxHeight = true, 1, 6
	t.SetVirtualCursor(false)
	plain := textarea.StyleState{
		Prompt:      lipgloss.NewStyle().Foreground(lipgloss.Cyan).Bold(true),
		Placeholder: lipgloss.NewStyle().Faint(true),
		Selection:   lipgloss.NewStyle().Reverse(true),
	}
	styles := t.Styles()
	styles.Focused, styles.Blurred = plain, plain
	styles.Blurred.Prompt = lipgloss.NewStyle().Faint(true)
	styles.Cursor = textarea.CursorStyle{Blink: true} // in the terminal's own colour
	t.SetStyles(styles)
	t.KeyMap.InsertNewline = key.NewBinding(key.WithKeys("alt+enter", "shift+enter", "ctrl+j"))
	return t
}

// resizeInput lets the input take a third of the screen at most.
func (m *Model) resizeInput() {
	m.input.MaxHeight = max(1, min(8, m.height/4))
	m.input.SetWidth(max(8, m.width))
}

func (m *Model) setInput(text string) {
	m.input.SetValue(text)
	m.input.MoveToEnd()
}

// typing says whether keys make text.
func (m *Model) typing() bool { return m.focus == onInput || m.focus == onReason || m.focus == onField }

// borrowInput gives the input to something else than a prompt.
func (m *Model) borrowInput(to focus) tea.Cmd {
	if m.focus != onReason && m.focus != onField {
		m.draft = m.input.Value()
	}
	m.focus = to
	m.setInput("")
	return m.input.Focus()
}

// returnInput puts the prompt back that was being typed.
func (m *Model) returnInput(to focus) {
	if m.focus == onReason || m.focus == onField {
		m.setInput(m.draft)
		m.draft = ""
	}
	m.focus = to
}

// submit sends what was typed.
func (m *Model) submit() tea.Cmd {
	text := m.input.Value()
	if strings.TrimSpace(text) == "" {
		return nil
	}
	m.input.Reset()
	m.recalled, m.unsent, m.notice, m.view.scroll = 0, "", notice{}, 0
	m.outbox = append(m.outbox, write(text))
	if len(m.outbox) > 1 {
		return nil // it follows those before it
	}
	return m.send()
}

// giveBack puts what the server did not take in front of what was typed since.
func (m *Model) giveBack() {
	texts := m.unsentTexts()
	m.outbox = nil
	if m.focus == onReason || m.focus == onField {
		m.draft = join(append(texts, m.draft))
		return
	}
	m.setInput(join(append(texts, m.input.Value())))
}

// unsentTexts are the prompts that the server has not taken.
func (m *Model) unsentTexts() []string {
	var texts []string
	for _, l := range m.outbox {
		texts = append(texts, l.text)
	}
	return texts
}

func join(texts []string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), "\n")
}

// recall puts an earlier prompt into the input: back > 0 goes back.
func (m *Model) recall(back int) {
	var prompts []string
	for _, item := range m.talk.Items {
		if item.Kind == chat.Prompt {
			prompts = append(prompts, item.Text)
		}
	}
	for _, q := range m.talk.Queue {
		prompts = append(prompts, q.Text)
	}
	prompts = slices.Compact(prompts)
	to := m.recalled + back
	if to < 0 || to > len(prompts) {
		return
	}
	if m.recalled == 0 {
		m.unsent = m.input.Value()
	}
	if m.recalled = to; to == 0 {
		m.setInput(m.unsent)
		return
	}
	m.setInput(prompts[len(prompts)-to])
}
