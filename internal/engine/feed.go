package engine

import (
	"context"
	"fmt"

	"paddock/internal/event"
	"paddock/internal/id"
	"paddock/internal/session"
	"paddock/internal/store"
)

// Feed is one reader's view of a session's history. It must be closed.
type Feed struct {
	engine  *Engine
	session id.Session
}

// Feed opens a session's history for reading; NotFound when there is no such
// session in the team.
func (e *Engine) Feed(ctx context.Context, team id.Team, ref string) (*Feed, error) {
	s, err := e.find(ctx, team, ref)
	if err != nil {
		return nil, err
	}
	e.hub.open(s.ID)
	// Read again: what was committed before the topic was open was not told to it.
	if s, err = e.store.SessionByID(ctx, s.ID); err != nil {
		e.hub.close(s.ID)
		return nil, fmt.Errorf("read session: %w", err)
	}
	e.hub.publish(s.ID, s.LastSeq, s.State.Final())
	return &Feed{engine: e, session: s.ID}, nil
}

// Close ends the reading.
func (f *Feed) Close() { f.engine.hub.close(f.session) }

// Name tells the history from all others.
func (f *Feed) Name() string { return f.session.String() }

// Session is whose history it is.
func (f *Feed) Session() id.Session { return f.session }

// Place is where an event of the session stands.
func (f *Feed) Place(e event.Event) int64 { return e.Seq }

// Read gives a piece of the history, and up to where it goes.
func (f *Feed) Read(ctx context.Context, page store.EventPage) (events []event.Event, upTo int64, err error) {
	return f.engine.hub.events(ctx, f.session, page)
}

// Find finds the place of the event with this id; known is false when the
// session has no such event.
func (f *Feed) Find(ctx context.Context, cursor string) (place int64, known bool, err error) {
	want, err := id.Parse[id.Event](cursor)
	if err != nil {
		return 0, false, nil
	}
	place = id.EventSeq(want)
	found, err := f.engine.store.Events(ctx, f.session, store.EventPage{After: place - 1, Limit: 1, Bare: true})
	if err != nil || len(found) == 0 || found[0].ID != want {
		return 0, false, err
	}
	return place, true, nil
}

// Recent gives the seq after which the recent history begins: the whole current
// and last run are part of it, and never less than recentEvents.
func (f *Feed) Recent(ctx context.Context) (after int64, err error) {
	runs, err := f.engine.store.Runs(ctx, store.RunFilter{
		Session: f.session, Newest: true, Limit: 2,
		States: []session.RunState{session.RunRunning, session.RunAwaiting, session.RunCompleted, session.RunFailed, session.RunCancelled},
	})
	if err != nil {
		return 0, err
	}
	after = max(0, f.Last()-recentEvents)
	for _, r := range runs {
		first, err := f.engine.store.Events(ctx, f.session, store.EventPage{Run: r.ID, Limit: 1, Bare: true})
		if err != nil {
			return 0, err
		}
		if len(first) > 0 {
			after = min(after, first[0].Seq-1)
		}
	}
	return after, nil
}

// recentEvents is how many events a stream without a cursor begins with, if the
// last two runs have fewer.
const recentEvents = 200

// Last is the seq of the newest published event.
func (f *Feed) Last() int64 {
	last, _, _ := f.engine.hub.state(f.session)
	return last
}

// Ended says whether the session is destroyed: nothing will follow Last.
func (f *Feed) Ended() bool {
	_, ended, _ := f.engine.hub.state(f.session)
	return ended
}

// Changed gives a channel that is closed once something after seq is published
// or the session has ended.
func (f *Feed) Changed(after int64) <-chan struct{} { return f.engine.hub.changed(f.session, after) }
