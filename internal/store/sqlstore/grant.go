package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"paddock/internal/approval"
	"paddock/internal/id"
)

var (
	grantColumns = strings.Fields("id session_id approval_id match actor reason granted_at_us revoked_at_us revoked_by")
	selectGrant  = "SELECT " + strings.Join(grantColumns, ", ") + " FROM grants"
	saveGrant    = insertInto("grants", grantColumns) + orReplace("id", grantColumns)
)

func scanGrant(rows *sql.Rows) (g approval.Grant, err error) {
	err = rows.Scan(
		idInto(&g.ID), idInto(&g.Session), idInto(&g.Approval), documentInto(&g.Match), &g.Actor, &g.Reason,
		momentInto(&g.At), momentInto(&g.RevokedAt), &g.RevokedBy,
	)
	return g, err
}

// Grant implements store.Reader.
func (q queries) Grant(ctx context.Context, session id.Session, grant id.Grant) (approval.Grant, error) {
	g, err := one(ctx, q, scanGrant, selectGrant+" WHERE id = $1 AND session_id = $2", grant.String(), session.String())
	return g, wrap(err, "find grant %s", grant)
}

// Grants implements store.Reader.
func (q queries) Grants(ctx context.Context, session id.Session) ([]approval.Grant, error) {
	list, err := all(ctx, q, scanGrant, selectGrant+" WHERE session_id = $1 AND revoked_at_us IS NULL ORDER BY ordinal", session.String())
	return list, wrap(err, "list grants of %s", session)
}

// SaveGrant implements store.Tx.
func (x *tx) SaveGrant(g approval.Grant) error {
	match, err := document(g.Match)
	if err != nil {
		return fmt.Errorf("save grant %s: %w", g.ID, err)
	}
	_, err = x.write(saveGrant,
		g.ID.String(), g.Session.String(), g.Approval.String(), match, g.Actor, g.Reason,
		created(g.At), moment(g.RevokedAt), g.RevokedBy,
	)
	return wrap(err, "save grant %s", g.ID)
}
