package sqlstore

import (
	"context"
	"database/sql"
	"hash/fnv"

	"paddock/internal/event"
	"paddock/internal/id"
	"paddock/internal/store"
)

// teamEnd is the end of a team's history.
type teamEnd struct {
	id            id.Team
	number, place int64
}

func scanTeamEnd(rows *sql.Rows) (e teamEnd, err error) {
	err = rows.Scan(idInto(&e.id), &e.number, &e.place)
	return e, err
}

// TeamEvents implements store.Reader.
func (q queries) TeamEvents(ctx context.Context, team id.Team, page store.EventPage) ([]event.Event, error) {
	var w where
	w.add("team = (SELECT number FROM teams WHERE id = %s)", team.String())
	list, err := q.events(ctx, &w, "place", newEventRow(id.Session{}, page), page)
	return list, wrap(err, "read events of %s", team)
}

const (
	selectTeamEnd = "SELECT id, number, last_place FROM teams WHERE id = $1"
	selectPlace   = "SELECT place FROM events WHERE team = $1 AND place = $2 AND id = $3"
)

func scanPlace(rows *sql.Rows) (place int64, err error) {
	err = rows.Scan(&place)
	return place, err
}

// EventPlace implements store.Reader. An event's id has the low bits of its
// place, so there is one place to look at in each of the some 10⁹ that differ
// in the high bits.
func (q queries) EventPlace(ctx context.Context, team id.Team, event id.Event) (int64, error) {
	end, err := one(ctx, q, scanTeamEnd, selectTeamEnd, team.String())
	if err != nil {
		return 0, wrap(err, "find %s", team)
	}
	low := int64(id.EventTail(event) ^ mark(team))
	for place := end.place&^id.EventTailMask | low; place > 0; place -= id.EventTailMask + 1 {
		found, err := all(ctx, q, scanPlace, selectPlace, end.number, place, event.String())
		if err != nil {
			return 0, wrap(err, "find the place of %s", event)
		}
		if len(found) == 1 {
			return found[0], nil
		}
	}
	return 0, wrap(store.ErrNotFound, "find the place of %s", event)
}

// tail is what an event's id says of its place. The teams' marks keep ids of
// different teams apart that have the same time, seq and place.
func tail(team id.Team, place int64) uint32 {
	return uint32(place)&id.EventTailMask ^ mark(team)
}

func mark(team id.Team) uint32 {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(team.String())) // never fails
	return sum.Sum32() & id.EventTailMask
}
