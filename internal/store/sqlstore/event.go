package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"paddock/internal/event"
	"paddock/internal/id"
	"paddock/internal/store"
)

var (
	eventColumns = strings.Fields("session_id seq id run_id at_us kind source_type team place dropped data")
	insertEvent  = insertInto("events", eventColumns)
	insertRaw    = insertInto("event_raw", strings.Fields("session_id seq raw raw_dropped"))
)

// claimSeqs moves the end of a session's history by a number of events and of
// bytes, some of them raw: it gives the new end and the time of these events,
// which does not run behind.
const claimSeqs = `UPDATE sessions SET last_seq = last_seq + $2,
	history_bytes = history_bytes + $4, raw_bytes = raw_bytes + $5,
	last_event_at_us = CASE WHEN last_event_at_us > $3 THEN last_event_at_us ELSE $3 END
	WHERE id = $1 RETURNING last_seq, last_event_at_us`

// claimPlaces moves the end of the history of a session's team by a number of
// events. The row stays locked until the commit, so that places become visible
// in their order.
const claimPlaces = `UPDATE teams SET last_place = last_place + $2
	WHERE id = (SELECT team_id FROM sessions WHERE id = $1) RETURNING id, number, last_place`

// eventRow takes the rows of a page, one after the other. Histories are long:
// what is read, and where it goes, is said once for all rows, and is no more than
// is wanted, for each column of each row costs.
type eventRow struct {
	event event.Event
	names []string
	into  []any
	from  string // the table, and the index where it does not go without saying
	join  string
}

func (r *eventRow) read(column string, into any) {
	r.names, r.into = append(r.names, column), append(r.into, into)
}

// newEventRow is for a page of a session's history; zero: of a team's.
func newEventRow(of id.Session, page store.EventPage) *eventRow {
	r := &eventRow{event: event.Event{Session: of}, from: "events"}
	e := &r.event
	if of.IsZero() {
		r.read("session_id", idInto(&e.Session))
	}
	r.read("seq", numberInto(&e.Seq))
	r.read("id", idInto(&e.ID))
	r.read("run_id", idInto(&e.Run))
	r.read("at_us", momentInto(&e.At))
	r.read("kind", textInto(&e.Kind))
	r.read("source_type", &e.SourceType)
	r.read("place", numberInto(&e.Place))
	r.read("dropped", numberInto(&e.Dropped))
	if page.Bare {
		return r
	}
	r.read("data", (*[]byte)(&e.Data))
	if page.Raw {
		r.read("raw", &e.SourceRaw)
		r.read("COALESCE(raw_dropped, 0)", numberInto(&e.RawDropped))
		r.join = " LEFT JOIN event_raw USING (session_id, seq)"
	}
	return r
}

func (r *eventRow) text() string {
	return "SELECT " + strings.Join(r.names, ", ") + " FROM " + r.from + r.join
}

func (r *eventRow) scan(rows *sql.Rows) (event.Event, error) {
	err := rows.Scan(r.into...)
	return r.event, err
}

// Events implements store.Reader.
func (q queries) Events(ctx context.Context, session id.Session, page store.EventPage) ([]event.Event, error) {
	var w where
	w.add("session_id = %s", session.String())
	list, err := q.events(ctx, &w, "seq", newEventRow(session, page), page)
	return list, wrap(err, "read events of %s", session)
}

// rare is the condition of the indexes rareBy, word for word. The planner, which
// does not know how few they hold, is told to use them. What is not rare is
// ordinary: most of every history, so that who asks for it gets much of what is
// looked at.
const rare = "kind <> 'run.token_delta' AND kind <> 'run.tool_call_started' AND kind <> 'run.tool_call_completed'"

// rareBy are the indexes of rare events by the column that orders them.
var rareBy = map[string]string{"seq": "events_rare", "place": "events_rare_team"}

func ordinary(k event.Kind) bool {
	return k == event.TokenDelta || k == event.ToolCallStarted || k == event.ToolCallCompleted
}

// events reads a page in the order of a column.
func (q queries) events(ctx context.Context, w *where, order string, row *eventRow, page store.EventPage) ([]event.Event, error) {
	if page.After > 0 {
		w.add(order+" > %s", page.After)
	}
	direction := ""
	if page.Before > 0 {
		w.add(order+" < %s", page.Before)
		direction = " DESC" // the last ones; turned around below
	}
	if !page.Run.IsZero() {
		w.add("run_id = %s", page.Run.String())
	}
	in(w, "kind", page.Kinds)
	if page.Run.IsZero() && len(page.Kinds) > 0 && !slices.ContainsFunc(page.Kinds, ordinary) {
		w.add(rare)
		row.from += " INDEXED BY " + rareBy[order]
	}
	list, size := []event.Event{}, 0
	err := q.run.query(ctx, func(rows *sql.Rows) error {
		e, err := row.scan(rows)
		if err != nil {
			return err
		}
		list = append(list, e)
		if size += len(e.Data) + len(e.SourceRaw); page.Bytes > 0 && size >= page.Bytes {
			return errEnough
		}
		return nil
	}, row.text()+w.String()+" ORDER BY "+order+direction+w.limit(page.Limit), w.args...)
	if err != nil {
		return nil, err
	}
	if page.Before > 0 {
		slices.Reverse(list)
	}
	return list, nil
}

// end is the end of a session's history.
type end struct {
	seq int64
	at  time.Time
}

func scanEnd(rows *sql.Rows) (e end, err error) {
	err = rows.Scan(&e.seq, momentInto(&e.at))
	return e, err
}

// Append implements store.Tx.
func (x *tx) Append(session id.Session, at time.Time, drafts ...event.Draft) ([]event.Event, error) {
	if len(drafts) == 0 {
		return nil, nil
	}
	events := make([]event.Event, len(drafts))
	bytes, raw := 0, 0
	for i, d := range drafts {
		events[i] = fresh(session, d)
		raw += len(events[i].SourceRaw)
		bytes += len(events[i].Data) + len(events[i].SourceRaw)
	}
	end, err := one(context.Background(), x.queries, scanEnd, claimSeqs, session.String(), len(drafts), created(at), bytes, raw)
	if err != nil {
		return nil, fmt.Errorf("append to %s: %w", session, err)
	}
	team, err := one(context.Background(), x.queries, scanTeamEnd, claimPlaces, session.String(), len(drafts))
	if err != nil {
		return nil, fmt.Errorf("append to the team of %s: %w", session, err)
	}
	for i := range events {
		e, back := &events[i], int64(len(events)-1-i)
		e.Seq, e.Place, e.At = end.seq-back, team.place-back, end.at
		e.ID = id.NewEvent(e.At, e.Seq, tail(team.id, e.Place))
		if err := x.insertEvent(*e, team.number); err != nil {
			return nil, fmt.Errorf("append %s to %s: %w", e.Kind, session, err)
		}
	}
	return events, nil
}

// fresh is an event that has no place yet.
func fresh(session id.Session, d event.Draft) event.Event {
	if len(d.Data) == 0 {
		d.Data = json.RawMessage("{}")
	}
	data, dropped, raw, rawDropped := event.Fit(d.Data, d.SourceRaw)
	return event.Event{
		Session: session, Run: d.Run, Kind: d.Kind, Data: data, SourceType: d.SourceType, SourceRaw: raw,
		Dropped: int64(dropped), RawDropped: int64(rawDropped),
	}
}

func (x *tx) insertEvent(e event.Event, team int64) error {
	_, err := x.write(insertEvent, e.Session.String(), e.Seq, e.ID.String(), ref(e.Run), created(e.At), string(e.Kind), e.SourceType,
		team, e.Place, e.Dropped, []byte(e.Data))
	if err != nil || len(e.SourceRaw) == 0 {
		return err
	}
	_, err = x.write(insertRaw, e.Session.String(), e.Seq, e.SourceRaw, e.RawDropped)
	return err
}
