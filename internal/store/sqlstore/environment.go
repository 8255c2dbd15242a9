package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"paddock/internal/environment"
	"paddock/internal/id"
	"paddock/internal/store"
)

var (
	environmentColumns = strings.Fields("id team_id name source spec content_hash created_by created_at_us removed_at_us sealed")
	selectEnvironment  = "SELECT " + strings.Join(environmentColumns, ", ") + " FROM environments"
	insertEnvironment  = insertInto("environments", environmentColumns)
)

func scanEnvironment(rows *sql.Rows) (e environment.Environment, err error) {
	err = rows.Scan(
		idInto(&e.ID), idInto(&e.Team), &e.Name, &e.Source, documentInto(&e.Spec), &e.ContentHash, &e.CreatedBy,
		momentInto(&e.CreatedAt), momentInto(&e.RemovedAt), &e.Sealed,
	)
	return e, err
}

// Environment implements store.Reader.
func (q queries) Environment(ctx context.Context, environment id.Environment) (environment.Environment, error) {
	e, err := one(ctx, q, scanEnvironment, selectEnvironment+" WHERE id = $1", environment.String())
	return e, wrap(err, "find environment %s", environment)
}

// Environments implements store.Reader.
func (q queries) Environments(ctx context.Context, f store.EnvironmentFilter) ([]environment.Environment, error) {
	var w where
	w.add("removed_at_us IS NULL")
	if !f.Team.IsZero() {
		w.add("team_id = %s", f.Team.String())
	}
	if f.Sealed {
		w.add("sealed IS NOT NULL")
	}
	if f.Name != "" {
		w.add("name = %s", f.Name)
	}
	if f.ContentHash != "" {
		w.add("content_hash = %s", f.ContentHash)
	}
	if !f.Before.IsZero() {
		w.add("id < %s", f.Before.String())
	}
	list, err := all(ctx, q, scanEnvironment, selectEnvironment+w.String()+" ORDER BY id DESC"+w.limit(f.Limit), w.args...)
	return list, wrap(err, "list environments")
}

// SaveEnvironment implements store.Tx.
func (x *tx) SaveEnvironment(e environment.Environment) error {
	spec, err := document(e.Spec)
	if err != nil {
		return fmt.Errorf("save environment %s: %w", e.ID, err)
	}
	_, err = x.write(insertEnvironment, e.ID.String(), e.Team.String(), e.Name, e.Source, spec, e.ContentHash, e.CreatedBy,
		created(e.CreatedAt), moment(e.RemovedAt), blob(e.Sealed))
	return wrap(err, "save environment %s", e.ID)
}

// RemoveEnvironment implements store.Tx.
func (x *tx) RemoveEnvironment(environment id.Environment, at time.Time) error {
	n, err := x.write("UPDATE environments SET removed_at_us = $2, sealed = NULL WHERE id = $1 AND removed_at_us IS NULL", environment.String(), moment(at))
	if err == nil && n == 0 {
		err = store.ErrNotFound
	}
	return wrap(err, "remove environment %s", environment)
}
