package screen

import (
	"context"
	"errors"
	"io"
	"time"

	tea "charm.land/bubbletea/v2"

	"paddock/client"
)

// call asks the server for something and gives the message to the model.
type call func(ctx context.Context) tea.Msg

// answer is a message that knows what to do.
type answer interface{ apply(*Model) tea.Cmd }

// runsSeen is how many runs are looked through for inputs that wait; 32 may.
const runsSeen = 50

// pageSize is the length of an older part of the history, in events.
const pageSize = 400

// refreshed is what the server says of the session beside its events.
type refreshed struct {
	session client.Session
	runs    []client.Run
	changes int // of the conversation when it was asked for
	err     error
}

// refresh asks for what events do not tell: what waits, what is pending.
func (m *Model) refresh() tea.Cmd {
	if m.refreshing {
		return nil
	}
	m.refreshing = true
	id, changes := m.talk.Session.ID, m.talk.Changes
	return m.do(func(ctx context.Context) tea.Msg {
		s, err := m.api.Session(ctx, id)
		if err != nil {
			return refreshed{err: err}
		}
		runs, err := m.api.Runs(ctx, id, runsSeen, "")
		return refreshed{s, runs.Runs, changes, err}
	})
}

func (r refreshed) apply(m *Model) tea.Cmd {
	m.refreshing = false
	switch {
	case r.err != nil: // the stream says whether the server is away
		return nil
	case r.changes != m.talk.Changes:
		return m.refresh()
	}
	m.talk.SetSession(r.session)
	m.talk.SetRuns(r.runs)
	return nil
}

type approvals []client.Approval

func (m *Model) getApprovals(ctx context.Context) tea.Msg {
	list, err := m.api.Approvals(ctx, m.talk.Session.ID, false)
	if err != nil {
		return nil
	}
	return approvals(list)
}

func (a approvals) apply(m *Model) tea.Cmd {
	m.talk.SetApprovals(a)
	return nil
}

// sent is how the first prompt of the outbox fared.
type sent struct {
	run string
	err error
}

// send sends the first prompt of the outbox. The next follows when it is taken,
// so that they come in the order in which they were typed.
func (m *Model) send() tea.Cmd {
	id, first := m.talk.Session.ID, m.outbox[0]
	return m.do(func(ctx context.Context) tea.Msg {
		run, err := m.api.InputOnce(ctx, id, first.key, first.text)
		return sent{run, err}
	})
}

// resendAfter is how long a prompt waits before it is sent again to a server
// that was away.
const resendAfter = time.Second

// resend comes when that time is over.
type resend struct{}

func (resend) apply(m *Model) tea.Cmd {
	if len(m.outbox) == 0 {
		return nil
	}
	return m.send()
}

func (s sent) apply(m *Model) tea.Cmd {
	var refused *client.Error
	switch {
	case s.err != nil && !errors.As(s.err, &refused):
		m.say("the server is away; the prompt is sent when it is back")
		return m.later(resendAfter, resend{})
	case s.err != nil:
		m.sayGrim(m.explain(s.err))
		m.giveBack()
		return nil
	}
	m.talk.Sent(s.run, m.outbox[0].text)
	if m.outbox = m.outbox[1:]; len(m.outbox) > 0 {
		return m.send()
	}
	return nil
}

// cancelled is how a cancellation fared.
type cancelled struct {
	queued bool
	text   string // of a queued prompt
	answer client.CancelAnswer
	err    error
}

func (m *Model) cancelRun(run string) tea.Cmd {
	id := m.talk.Session.ID
	return m.do(func(ctx context.Context) tea.Msg {
		met, err := m.api.Cancel(ctx, id, run)
		return cancelled{answer: met, err: err}
	})
}

func (m *Model) cancelQueued(run, text string) tea.Cmd {
	id := m.talk.Session.ID
	return m.do(func(ctx context.Context) tea.Msg {
		met, err := m.api.Cancel(ctx, id, run)
		return cancelled{queued: true, text: text, answer: met, err: err}
	})
}

func (c cancelled) apply(m *Model) tea.Cmd {
	switch {
	case c.err != nil:
		m.cancelling = ""
		m.sayGrim(m.explain(c.err))
	case c.queued:
		m.say("the waiting prompt was cancelled")
		if m.focus == onInput && m.input.Value() == "" {
			m.setInput(c.text)
		}
	case c.answer.Outcome == "unsupported":
		m.cancelling = ""
		m.sayGrim("this agent cannot be interrupted; Ctrl-C again leaves")
	case c.answer.Outcome == "no_turn":
		m.cancelling = ""
	}
	return m.refresh()
}

// answered is how the answer to a question fared.
type answered struct {
	id  string
	err error
}

func (m *Model) answer(id string, with client.AnswerRequest) tea.Cmd {
	session := m.talk.Session.ID
	m.ask.sent = id
	return m.do(func(ctx context.Context) tea.Msg {
		return answered{id, m.api.Answer(ctx, session, id, with)}
	})
}

func (a answered) apply(m *Model) tea.Cmd {
	if a.err == nil {
		return nil
	}
	if m.ask.sent == a.id {
		m.ask.sent = ""
	}
	m.sayGrim(m.explain(a.err))
	return nil
}

// past is an older part of the history.
type past struct {
	before string
	events []client.Event
	err    error
}

// readBack asks for the part of the history before what was read.
func (m *Model) readBack() tea.Cmd {
	before := m.talk.First()
	if m.older || before == "" || m.talk.Begins() {
		return nil
	}
	m.older = true
	id := m.talk.Session.ID
	return m.do(func(ctx context.Context) tea.Msg {
		stream, err := m.api.Events(ctx, id, client.EventsOptions{ReplayOnly: true, Before: before, Limit: pageSize})
		if err != nil {
			return past{err: err}
		}
		defer stream.Close()
		got := past{before: before}
		for {
			e, err := stream.Next()
			if errors.Is(err, io.EOF) {
				return got
			}
			if err != nil {
				return past{err: err}
			}
			got.events = append(got.events, e)
		}
	})
}

func (p past) apply(m *Model) tea.Cmd {
	m.older = false
	switch {
	case p.err != nil:
		m.sayGrim(m.explain(p.err))
	case p.before == m.talk.First():
		m.talk.Before(p.events)
		clear(m.view.laid)
	}
	return nil
}
