package screen

import (
	"strconv"
	"time"

	tea "charm.land/bubbletea/v2"

	"paddock/client"
	"paddock/internal/cli/chat"
)

// answering is how far the answer to the current question is.
type answering struct {
	id     string    // the question
	since  time.Time // when the keys came to it
	sent   string    // the question whose answer is on its way
	fields []chat.Field
	at     int            // the field that is asked for
	given  map[string]any // of the fields before
}

// current is the question to answer now: the first that nobody left for later,
// else the first of those.
func (m *Model) current() (chat.Ask, bool) {
	for _, a := range m.talk.Asks {
		if !a.Later {
			return a, true
		}
	}
	if len(m.talk.Asks) > 0 {
		return m.talk.Asks[0], true
	}
	return chat.Ask{}, false
}

// attend lets keys go where they are due after something has changed.
func (m *Model) attend() {
	ask, any := m.current()
	if !any || ask.ID != m.ask.id {
		if m.focus == onReason || m.focus == onField || m.focus == onAsk {
			m.returnInput(onInput) // it was answered elsewhere, or just now
		}
		m.ask = answering{sent: m.ask.sent}
		if any {
			m.ask.id, m.ask.fields = ask.ID, chat.Form(ask.Details.Schema)
		}
		if m.ask.sent != ask.ID {
			m.ask.sent = ""
		}
	}
	if any && !ask.Later && m.focus == onInput && m.input.Value() == "" && m.now().Sub(m.lastKey) >= quietFor {
		m.focus, m.ask.since = onAsk, m.now()
	}
}

// settle is how long a question has been on the screen before a key allows
// something: one that was meant for the input does not.
const settle = 300 * time.Millisecond

// askKey answers by a key. Any other text begins the answer to a question that
// takes one, else a prompt.
func (m *Model) askKey(msg tea.KeyPressMsg) tea.Cmd {
	ask, ok := m.current()
	if !ok || m.ask.sent == ask.ID {
		return nil // one answer is enough
	}
	question := ask.Details.Question != ""
	seen := m.now().Sub(m.ask.since) >= settle
	switch key := msg.String(); {
	case key == "n":
		return m.borrowInput(onReason)
	case key == "d":
		m.say("left for later; Tab comes back to it")
		m.focus = onInput
		return m.answer(ask.ID, client.AnswerRequest{Outcome: client.OutcomeDefer})
	case key == "esc":
		m.focus = onInput
	case key == "y" && !question && seen:
		return m.answer(ask.ID, client.AnswerRequest{Outcome: client.OutcomeApprove})
	case key == "s" && !question && seen:
		return m.answer(ask.ID, client.AnswerRequest{Outcome: client.OutcomeApprove, ForSession: true})
	case (key == "y" || key == "s" || key == "enter") && !question:
		return nil
	case key == "enter":
		return m.nextField(ask)
	case question && m.choices() > 0 && len(key) == 1 && key >= "0" && key <= "9":
		n, _ := strconv.Atoi(key)
		return m.chosen(ask, n)
	case msg.Text == "":
		return nil
	case question && m.choices() == 0 && seen:
		return tea.Batch(m.nextField(ask), m.borrowedKey(msg))
	default:
		m.focus = onInput
		return m.inputKey(msg)
	}
	return nil
}

// choices is how many the field that is asked for has; 0: any text.
func (m *Model) choices() int { return len(m.ask.fields[m.ask.at].Choices) }

// chosen takes the nth choice of the field that is asked for.
func (m *Model) chosen(ask chat.Ask, n int) tea.Cmd {
	if choices := m.ask.fields[m.ask.at].Choices; n >= 1 && n <= len(choices) {
		return m.give(ask, choices[n-1])
	}
	return nil
}

// nextField asks for a field's value: by a number where there are choices, else
// in the input.
func (m *Model) nextField(ask chat.Ask) tea.Cmd {
	if len(m.ask.fields[m.ask.at].Choices) > 0 {
		m.returnInput(onAsk)
		return nil
	}
	return m.borrowInput(onField)
}

// give takes the value of a field, and answers with the last.
func (m *Model) give(ask chat.Ask, text string) tea.Cmd {
	f := m.ask.fields[m.ask.at]
	value, err := f.Value(text)
	if err != nil {
		m.sayGrim(err.Error())
		return nil
	}
	m.notice = notice{}
	if m.ask.given == nil {
		m.ask.given = map[string]any{}
	}
	if value != nil {
		m.ask.given[f.Name] = value
	}
	if m.ask.at++; m.ask.at < len(m.ask.fields) {
		return m.nextField(ask)
	}
	m.ask.at = 0
	m.returnInput(onInput)
	return m.answer(ask.ID, client.AnswerRequest{Outcome: client.OutcomeApprove, Content: m.ask.given})
}

// borrowedKey is a key while a reason or a field is typed.
func (m *Model) borrowedKey(msg tea.KeyPressMsg) tea.Cmd {
	ask, ok := m.current()
	switch {
	case !ok:
		m.returnInput(onInput)
		return nil
	case msg.String() == "esc":
		m.returnInput(onAsk)
		return nil
	case msg.String() == "enter" && m.focus == onReason:
		reason := m.input.Value()
		m.returnInput(onInput)
		return m.answer(ask.ID, client.AnswerRequest{Outcome: client.OutcomeReject, Reason: reason})
	case msg.String() == "enter":
		return m.give(ask, m.input.Value())
	}
	var cmd tea.Cmd
	m.input, cmd = m.input.Update(msg)
	return cmd
}
