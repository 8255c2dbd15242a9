package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"paddock/internal/id"
	"paddock/internal/store"
)

var (
	receiptColumns = strings.Fields("team_id key request exec_id answer body created_at_us")
	selectReceipt  = "SELECT " + strings.Join(receiptColumns, ", ") + " FROM receipts"
	saveReceipt    = insertInto("receipts", receiptColumns) + orReplace("team_id, key", receiptColumns)
)

// answerHead is how an answer without its body is stored.
type answerHead struct {
	Status int               `json:"status"`
	Header map[string]string `json:"header,omitempty"`
	Sealed bool              `json:"sealed,omitempty"`
}

func scanReceipt(rows *sql.Rows) (r store.Receipt, err error) {
	var head, body []byte
	err = rows.Scan(idInto(&r.Team), &r.Key, &r.Request, idInto(&r.Exec), &head, &body, momentInto(&r.CreatedAt))
	if err != nil || head == nil {
		return r, err
	}
	var h answerHead
	err = documentInto(&h).Scan(head)
	r.Answer = &store.Answer{Status: h.Status, Header: h.Header, Body: body, Sealed: h.Sealed}
	return r, err
}

// Receipt implements store.Reader.
func (q queries) Receipt(ctx context.Context, team id.Team, key string) (store.Receipt, error) {
	r, err := one(ctx, q, scanReceipt, selectReceipt+" WHERE team_id = $1 AND key = $2", team.String(), key)
	return r, wrap(err, "find receipt %q", key)
}

// SaveReceipt implements store.Tx.
func (x *tx) SaveReceipt(r store.Receipt) error {
	var head, body any
	if r.Answer != nil {
		text, err := document(answerHead{Status: r.Answer.Status, Header: r.Answer.Header, Sealed: r.Answer.Sealed})
		if err != nil {
			return fmt.Errorf("save receipt %q: %w", r.Key, err)
		}
		head, body = text, blob(r.Answer.Body)
	}
	_, err := x.write(saveReceipt, r.Team.String(), r.Key, r.Request, ref(r.Exec), head, body, created(r.CreatedAt))
	return wrap(err, "save receipt %q", r.Key)
}

const (
	oldReceipts    = "SELECT rowid FROM receipts WHERE created_at_us < $1 ORDER BY created_at_us LIMIT $2"
	deleteReceipts = "DELETE FROM receipts WHERE rowid IN (" + oldReceipts + ")"
)

// DeleteReceipts implements store.Tx.
func (x *tx) DeleteReceipts(before time.Time, limit int) (int, error) {
	n, err := x.write(deleteReceipts, created(before), limit)
	return int(n), wrap(err, "delete old receipts")
}

// DeleteReceipt implements store.Tx.
func (x *tx) DeleteReceipt(team id.Team, key string) error {
	_, err := x.write("DELETE FROM receipts WHERE team_id = $1 AND key = $2", team.String(), key)
	return wrap(err, "delete receipt %q", key)
}
