package sqlstore

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"paddock/internal/id"
	"paddock/internal/store"
)

var (
	noticeColumns = strings.Fields("id channel session_id kind body created_at_us due_at_us attempts")
	selectNotice  = "SELECT " + strings.Join(noticeColumns, ", ") + " FROM notices"
	saveNotice    = insertInto("notices", noticeColumns) + orReplace("id", noticeColumns)
)

const (
	oldNotices    = "SELECT ordinal FROM notices WHERE created_at_us < $1 ORDER BY created_at_us LIMIT $2"
	deleteNotices = "DELETE FROM notices WHERE ordinal IN (" + oldNotices + ")"
)

func scanNotice(rows *sql.Rows) (n store.Notice, err error) {
	err = rows.Scan(
		idInto(&n.ID), &n.Channel, idInto(&n.Session), &n.Kind, &n.Body, momentInto(&n.CreatedAt), momentInto(&n.DueAt), &n.Attempts,
	)
	return n, err
}

// DueNotices implements store.Reader.
func (q queries) DueNotices(ctx context.Context, channel string, at time.Time, limit int) ([]store.Notice, error) {
	list, err := all(ctx, q, scanNotice, selectNotice+" WHERE channel = $1 AND due_at_us <= $2 ORDER BY due_at_us LIMIT $3", channel, created(at), limit)
	return list, wrap(err, "list due notices")
}

// SaveNotice implements store.Tx.
func (x *tx) SaveNotice(n store.Notice) error {
	_, err := x.write(saveNotice,
		n.ID.String(), n.Channel, n.Session.String(), string(n.Kind), n.Body, created(n.CreatedAt), created(n.DueAt), n.Attempts)
	return wrap(err, "save notice %s", n.ID)
}

// DeleteNotice implements store.Tx.
func (x *tx) DeleteNotice(notice id.Notice) error {
	_, err := x.write("DELETE FROM notices WHERE id = $1", notice.String())
	return wrap(err, "delete notice %s", notice)
}

// DeleteNotices implements store.Tx.
func (x *tx) DeleteNotices(before time.Time, limit int) (int, error) {
	n, err := x.write(deleteNotices, created(before), limit)
	return int(n), wrap(err, "delete old notices")
}
