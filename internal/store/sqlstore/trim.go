package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"paddock/internal/event"
	"paddock/internal/id"
	"paddock/internal/store"
)

const (
	selectHeld = "SELECT last_seq, history_bytes, raw_bytes, raw_trimmed, output_trimmed, speech_trimmed FROM sessions WHERE id = $1"
	updateHeld = `UPDATE sessions SET history_bytes = $2, raw_bytes = $3, raw_trimmed = $4, output_trimmed = $5, speech_trimmed = $6
		WHERE id = $1`

	selectSizes = `SELECT e.seq, LENGTH(e.data) + COALESCE(LENGTH(r.raw), 0)
		FROM events e LEFT JOIN event_raw r ON r.session_id = e.session_id AND r.seq = e.seq
		WHERE e.session_id = $1 ORDER BY e.seq DESC LIMIT $2`
	selectRawSizes = "SELECT seq, LENGTH(raw) FROM event_raw WHERE session_id = $1 AND seq > $2 AND seq < $3 ORDER BY seq LIMIT $4"
	dropRaw        = `UPDATE event_raw SET raw_dropped = raw_dropped + LENGTH(raw), raw = $4
		WHERE session_id = $1 AND seq > $2 AND seq <= $3`

	selectBodies = "SELECT seq, kind, data FROM events WHERE session_id = $1 AND seq > $2 AND seq < $3 ORDER BY seq LIMIT $4"
	abridge      = "UPDATE events SET data = $3, dropped = dropped + $4 WHERE session_id = $1 AND seq = $2"
)

// held is what a session's history holds, in bytes, and up to which seq bodies
// of each sort are dropped.
type held struct {
	lastSeq     int64
	bytes, raw  int64 // raw is part of bytes
	rawTrimmed  int64
	outTrimmed  int64
	saidTrimmed int64
}

func scanHeld(rows *sql.Rows) (h held, err error) {
	err = rows.Scan(&h.lastSeq, &h.bytes, &h.raw, &h.rawTrimmed, &h.outTrimmed, &h.saidTrimmed)
	return h, err
}

// TrimHistory implements store.Tx.
func (x *tx) TrimHistory(session id.Session, limit int64, most int) error {
	h, err := one(context.Background(), x.queries, scanHeld, selectHeld, session.String())
	if err != nil {
		return fmt.Errorf("trim history of %s: %w", session, err)
	}
	before := h
	t := trim{tx: x, session: session.String(), held: &h, limit: limit, left: most}
	if !t.over() {
		return nil
	}
	for _, sort := range []func() error{t.newest, t.rawFrames, t.outputs, t.speech} {
		if err := sort(); err != nil {
			return fmt.Errorf("trim history of %s: %w", session, err)
		}
	}
	if h == before {
		return nil
	}
	_, err = x.write(updateHeld, t.session, h.bytes, h.raw, h.rawTrimmed, h.outTrimmed, h.saidTrimmed)
	return wrap(err, "trim history of %s", session)
}

// trim is one TrimHistory.
type trim struct {
	*tx
	*held
	session string
	limit   int64
	left    int   // how many events may still be looked at
	until   int64 // the seq of the first event that is left alone
}

func (t *trim) over() bool { return t.bytes > t.limit && t.left > 0 }

type size struct{ seq, bytes int64 }

func scanSize(rows *sql.Rows) (s size, err error) {
	err = rows.Scan(&s.seq, &s.bytes)
	return s, err
}

// newest finds the events that are left alone: the last one, and those before
// it that fit their share of the limit.
func (t *trim) newest() error {
	sizes, err := all(context.Background(), t.queries, scanSize, selectSizes, t.session, store.Untrimmed)
	if err != nil {
		return err
	}
	t.until = t.lastSeq
	for room := t.limit / store.NewestShare; len(sizes) > 0; sizes = sizes[1:] {
		if room -= sizes[0].bytes; room < 0 {
			break
		}
		t.until = sizes[0].seq
	}
	return nil
}

// rawFrames drops the oldest native frames.
func (t *trim) rawFrames() error {
	if !t.over() || t.raw == 0 {
		return nil
	}
	sizes, err := all(context.Background(), t.queries, scanSize, selectRawSizes, t.session, t.rawTrimmed, t.until, t.left)
	if err != nil {
		return err
	}
	from := t.rawTrimmed
	for _, s := range sizes {
		if !t.over() {
			break
		}
		t.bytes, t.raw, t.rawTrimmed, t.left = t.bytes-s.bytes, t.raw-s.bytes, s.seq, t.left-1
	}
	_, err = t.write(dropRaw, t.session, from, t.rawTrimmed, []byte{})
	return err
}

// outputs drops the oldest of what tools took and gave.
func (t *trim) outputs() error {
	return t.bodies(&t.outTrimmed, event.Kind.Output)
}

// speech drops the oldest of everything else that is long.
func (t *trim) speech() error {
	return t.bodies(&t.saidTrimmed, func(k event.Kind) bool { return !k.Output() })
}

// bodies abridges the oldest payloads of some kinds after a seq, which it moves.
func (t *trim) bodies(trimmed *int64, sort func(event.Kind) bool) error {
	if !t.over() {
		return nil
	}
	type body struct {
		seq  int64
		kind event.Kind
		data []byte
	}
	bodies, err := all(context.Background(), t.queries, func(rows *sql.Rows) (b body, err error) {
		err = rows.Scan(&b.seq, &b.kind, &b.data)
		return b, err
	}, selectBodies, t.session, *trimmed, t.until, t.left)
	if err != nil {
		return err
	}
	for _, b := range bodies {
		if !t.over() {
			return nil
		}
		*trimmed, t.left = b.seq, t.left-1
		if !sort(b.kind) {
			continue
		}
		short, dropped := event.Abridge(json.RawMessage(b.data), event.ShortField)
		if dropped == 0 {
			continue
		}
		if _, err := t.write(abridge, t.session, b.seq, []byte(short), dropped); err != nil {
			return err
		}
		t.bytes -= int64(dropped)
	}
	return nil
}
