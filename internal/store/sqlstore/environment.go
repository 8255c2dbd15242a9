package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"paddock/internal/environment"
	"paddock/internal/id"
)

var (
	environmentColumns = strings.Fields("id team_id name source spec created_at_us")
	selectEnvironment  = "SELECT " + strings.Join(environmentColumns, ", ") + " FROM environments"
	insertEnvironment  = insertInto("environments", environmentColumns)
)

func scanEnvironment(rows *sql.Rows) (e environment.Environment, err error) {
	err = rows.Scan(idInto(&e.ID), idInto(&e.Team), &e.Name, &e.Source, documentInto(&e.Spec), momentInto(&e.CreatedAt))
	return e, err
}

// Environment implements store.Reader.
func (q queries) Environment(ctx context.Context, environment id.Environment) (environment.Environment, error) {
	e, err := one(ctx, q, scanEnvironment, selectEnvironment+" WHERE id = $1", environment.String())
	return e, wrap(err, "find environment %s", environment)
}

// SaveEnvironment implements store.Tx.
func (x *tx) SaveEnvironment(e environment.Environment) error {
	spec, err := document(e.Spec)
	if err != nil {
		return fmt.Errorf("save environment %s: %w", e.ID, err)
	}
	_, err = x.write(insertEnvironment, e.ID.String(), e.Team.String(), e.Name, e.Source, spec, created(e.CreatedAt))
	return wrap(err, "save environment %s", e.ID)
}
