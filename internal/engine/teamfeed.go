package engine

import (
	"context"
	"errors"
	"math"

	"paddock/internal/event"
	"paddock/internal/id"
	"paddock/internal/store"
)

// TeamFeed is one reader's view of the history of all sessions of a team, those
// that come later included: in the order in which events became durable. It must
// be closed.
type TeamFeed struct {
	engine *Engine
	team   id.Team
}

// TeamFeed opens a team's history for reading.
func (e *Engine) TeamFeed(ctx context.Context, team id.Team) (*TeamFeed, error) {
	e.teams.open(team)
	f := &TeamFeed{engine: e, team: team}
	// What was committed before the topic was open was not told to it.
	newest, err := e.store.TeamEvents(ctx, team, store.EventPage{Before: math.MaxInt64, Limit: 1, Bare: true})
	if err != nil {
		f.Close()
		return nil, err
	}
	if len(newest) > 0 {
		e.teams.publish(team, newest[0].Place, false)
	}
	return f, nil
}

// Close ends the reading.
func (f *TeamFeed) Close() { f.engine.teams.close(f.team) }

// Name tells the history from all others.
func (f *TeamFeed) Name() string { return f.team.String() }

// Session is zero: the events are of all sessions.
func (f *TeamFeed) Session() id.Session { return id.Session{} }

// Place is where an event stands in the team's history.
func (f *TeamFeed) Place(e event.Event) int64 { return e.Place }

// Read gives a piece of the history, and up to where it goes. Page means places.
func (f *TeamFeed) Read(ctx context.Context, page store.EventPage) (events []event.Event, upTo int64, err error) {
	return f.engine.teams.events(ctx, f.team, page)
}

// Find finds the place of the event with this id; known is false when no session
// of the team has it.
func (f *TeamFeed) Find(ctx context.Context, cursor string) (place int64, known bool, err error) {
	want, err := id.Parse[id.Event](cursor)
	if err != nil {
		return 0, false, nil
	}
	place, err = f.engine.store.EventPlace(ctx, f.team, want)
	if errors.Is(err, store.ErrNotFound) {
		return 0, false, nil
	}
	return place, err == nil, err
}

// Recent gives the place after which the recent history begins: the newest
// recentEvents.
func (f *TeamFeed) Recent(ctx context.Context) (after int64, err error) {
	events, err := f.engine.store.TeamEvents(ctx, f.team, store.EventPage{Before: f.Last() + 1, Limit: recentEvents, Bare: true})
	if err != nil || len(events) == 0 {
		return 0, err
	}
	return events[0].Place - 1, nil
}

// Last is the place of the newest published event.
func (f *TeamFeed) Last() int64 {
	last, _, _ := f.engine.teams.state(f.team)
	return last
}

// Ended is false: a team can always make another session.
func (f *TeamFeed) Ended() bool { return false }

// Changed gives a channel that is closed once something after a place is
// published.
func (f *TeamFeed) Changed(after int64) <-chan struct{} {
	return f.engine.teams.changed(f.team, after)
}
