package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"paddock/internal/id"
	"paddock/internal/store"
)

// ofSession are the tables whose rows belong to one session, each with the
// column that orders them, so that they can be emptied one after the other: who
// refers stands before what is referred to.
var ofSession = []struct{ table, order string }{
	{"event_raw", "seq"}, {"events", "seq"}, {"grants", "ordinal"}, {"approvals", "ordinal"}, {"runs", "ordinal"}, {"machines", "session_id"},
}

// longestGone finds the session whose history is to be forgotten first.
const longestGone = "SELECT id FROM sessions WHERE state = 'destroyed' AND ended_at_us < $1 ORDER BY ended_at_us LIMIT 1"

// deleteSome deletes rows of a session, from the oldest.
func deleteSome(table, order string) string {
	return "DELETE FROM " + table + " WHERE rowid IN (SELECT rowid FROM " + table + " WHERE session_id = $1 ORDER BY " + order + " LIMIT $2)"
}

func scanSessionID(rows *sql.Rows) (found id.Session, err error) {
	err = rows.Scan(idInto(&found))
	return found, err
}

// ForgetDestroyed implements store.Tx.
func (x *tx) ForgetDestroyed(before time.Time, limit int) (int, error) {
	deleted := 0
	for deleted < limit {
		gone, err := one(context.Background(), x.queries, scanSessionID, longestGone, created(before))
		if errors.Is(err, store.ErrNotFound) {
			return deleted, nil
		}
		if err != nil {
			return deleted, fmt.Errorf("find a session to forget: %w", err)
		}
		n, err := x.forget(gone, limit-deleted)
		if err != nil {
			return deleted, fmt.Errorf("forget session %s: %w", gone, err)
		}
		deleted += n
	}
	return deleted, nil
}

// forget deletes at most limit rows of a session, its own row last.
func (x *tx) forget(gone id.Session, limit int) (int, error) {
	deleted := 0
	for _, of := range ofSession {
		n, err := x.write(deleteSome(of.table, of.order), gone.String(), limit-deleted)
		if err != nil {
			return deleted, fmt.Errorf("empty %s: %w", of.table, err)
		}
		if deleted += int(n); deleted == limit {
			return deleted, nil
		}
	}
	n, err := x.write("DELETE FROM sessions WHERE id = $1", gone.String())
	return deleted + int(n), err
}
