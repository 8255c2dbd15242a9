package screen

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"paddock/client"
)

// The messages of the stream.
type (
	eventsMsg []client.Event
	streamMsg client.StreamState
	endMsg    struct{ err error }
)

// gather is how long events are gathered into one message, so that an answer
// that comes in many pieces is drawn often enough and not more.
const gather = 25 * time.Millisecond

// mostGathered bounds one message, in events.
const mostGathered = 2000

// feed reads a session's stream into the program until ctx ends.
type feed struct {
	send func(tea.Msg)
	got  chan any // client.Event, client.StreamState, endMsg
	work sync.WaitGroup
}

func (f *feed) start(ctx context.Context, stream *client.EventStream) {
	f.work.Go(func() {
		for {
			e, err := stream.Next()
			if err != nil {
				f.put(ctx, endMsg{err})
				return
			}
			if !f.put(ctx, e) {
				return
			}
		}
	})
	f.work.Go(func() { f.deliver(ctx) })
}

// state is told how the stream stands, in order with its events.
func (f *feed) state(ctx context.Context) func(client.StreamState) {
	return func(s client.StreamState) { f.put(ctx, s) }
}

func (f *feed) put(ctx context.Context, what any) bool {
	select {
	case f.got <- what:
		return true
	case <-ctx.Done():
		return false
	}
}

// deliver gathers events and passes them on.
func (f *feed) deliver(ctx context.Context) {
	var events []client.Event
	var due <-chan time.Time
	flush := func() {
		if len(events) > 0 {
			f.send(eventsMsg(events))
		}
		events, due = nil, nil
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-due:
			flush()
		case what := <-f.got:
			switch what := what.(type) {
			case client.Event:
				if events = append(events, what); len(events) >= mostGathered {
					flush()
				} else if due == nil {
					due = time.After(gather)
				}
			case client.StreamState:
				flush()
				f.send(streamMsg(what))
			case endMsg:
				flush()
				f.send(what)
				return
			}
		}
	}
}

// events reads what happened.
func (m *Model) events(list []client.Event) tea.Cmd {
	changes, height := m.talk.Changes, m.contentHeight()
	for _, e := range list {
		m.talk.Apply(e)
	}
	if m.view.scroll > 0 { // who reads back is not moved by what comes
		m.view.scroll += m.contentHeight() - height
	}
	if m.cancelling != "" && (m.talk.Run == nil || m.talk.Run.ID != m.cancelling) {
		m.cancelling, m.notice = "", notice{} // the notice was about it
	}
	if m.talk.Gone() && m.link == live {
		return m.leave(Gone, nil)
	}
	if changes != m.talk.Changes && m.link == live {
		return m.refresh()
	}
	return nil
}

func (m *Model) stream(s streamMsg) tea.Cmd {
	switch m.link = s.State; m.link {
	case live:
		if m.talk.Gone() {
			return m.leave(Gone, nil)
		}
		return tea.Batch(m.refresh(), m.do(m.getApprovals))
	case reconnecting:
		m.say("the server is away; the session goes on without it")
	}
	return nil
}

// ended ends the chat with its stream.
func (m *Model) ended(e endMsg) tea.Cmd {
	if errors.Is(e.err, io.EOF) || client.IsCode(e.err, "not_found") {
		return m.leave(Gone, nil)
	}
	return m.leave(Lost, e.err)
}
