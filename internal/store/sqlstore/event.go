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
	eventColumns = strings.Fields("session_id seq id run_id at_us kind data source_type")
	insertEvent  = insertInto("events", eventColumns)
	insertRaw    = insertInto("event_raw", strings.Fields("session_id seq raw"))

	selectEvents  = "SELECT " + strings.Join(eventColumns, ", ") + ", NULL FROM events"
	selectWithRaw = "SELECT " + strings.Join(eventColumns, ", ") + ", raw FROM events LEFT JOIN event_raw USING (session_id, seq)"
)

// claimPlaces moves the end of a session's history by a number of events: it
// gives the new end and the time of these events, which does not run behind.
const claimPlaces = `UPDATE sessions SET last_seq = last_seq + $2,
	last_event_at_us = CASE WHEN last_event_at_us > $3 THEN last_event_at_us ELSE $3 END
	WHERE id = $1 RETURNING last_seq, last_event_at_us`

func scanEvent(rows *sql.Rows) (e event.Event, err error) {
	err = rows.Scan(
		idInto(&e.Session), &e.Seq, idInto(&e.ID), idInto(&e.Run), momentInto(&e.At), &e.Kind, (*[]byte)(&e.Data), &e.SourceType, &e.SourceRaw,
	)
	return e, err
}

// Events implements store.Reader.
func (q queries) Events(ctx context.Context, session id.Session, page store.EventPage) ([]event.Event, error) {
	var w where
	w.add("session_id = %s", session.String())
	if page.After > 0 {
		w.add("seq > %s", page.After)
	}
	order := " ORDER BY seq"
	if page.Before > 0 {
		w.add("seq < %s", page.Before)
		order = " ORDER BY seq DESC" // the last ones; turned around below
	}
	if !page.Run.IsZero() {
		w.add("run_id = %s", page.Run.String())
	}
	text := selectEvents
	if page.Raw {
		text = selectWithRaw
	}
	list, err := all(ctx, q, scanEvent, text+w.String()+order+w.limit(page.Limit), w.args...)
	if page.Before > 0 {
		slices.Reverse(list)
	}
	return list, wrap(err, "read events of %s", session)
}

// place is the end of a session's history.
type place struct {
	seq int64
	at  time.Time
}

func scanPlace(rows *sql.Rows) (p place, err error) {
	err = rows.Scan(&p.seq, momentInto(&p.at))
	return p, err
}

// Append implements store.Tx.
func (x *tx) Append(session id.Session, at time.Time, drafts ...event.Draft) ([]event.Event, error) {
	if len(drafts) == 0 {
		return nil, nil
	}
	end, err := one(context.Background(), x.queries, scanPlace, claimPlaces, session.String(), len(drafts), created(at))
	if err != nil {
		return nil, fmt.Errorf("append to %s: %w", session, err)
	}
	events := make([]event.Event, len(drafts))
	for i, d := range drafts {
		seq := end.seq - int64(len(drafts)-1-i)
		events[i] = event.Event{
			ID: id.NewEvent(end.at, seq), Session: session, Run: d.Run, Seq: seq, At: end.at,
			Kind: d.Kind, Data: d.Data, SourceType: d.SourceType, SourceRaw: d.SourceRaw,
		}
		if len(d.Data) == 0 {
			events[i].Data = json.RawMessage("{}")
		}
		if err := x.insertEvent(events[i]); err != nil {
			return nil, fmt.Errorf("append %s to %s: %w", d.Kind, session, err)
		}
	}
	return events, nil
}

func (x *tx) insertEvent(e event.Event) error {
	_, err := x.write(insertEvent,
		e.Session.String(), e.Seq, e.ID.String(), ref(e.Run), created(e.At), string(e.Kind), []byte(e.Data), e.SourceType)
	if err != nil || len(e.SourceRaw) == 0 {
		return err
	}
	_, err = x.write(insertRaw, e.Session.String(), e.Seq, e.SourceRaw)
	return err
}
