package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"paddock/internal/id"
	"paddock/internal/store"
	"paddock/internal/team"
)

var (
	teamColumns = strings.Fields("id name created_at_us")
	selectTeam  = "SELECT " + strings.Join(teamColumns, ", ") + " FROM teams"
	insertTeam  = "INSERT INTO teams (id, name, created_at_us, number) SELECT $1, $2, $3, COALESCE(MAX(number), 0) + 1 FROM teams"

	tokenColumns = strings.Fields("id team_id name hash created_at_us")
	selectToken  = "SELECT " + strings.Join(tokenColumns, ", ") + " FROM tokens"
	saveToken    = insertInto("tokens", tokenColumns) + orReplace("id", tokenColumns)
)

func scanTeam(rows *sql.Rows) (t team.Team, err error) {
	err = rows.Scan(idInto(&t.ID), &t.Name, momentInto(&t.CreatedAt))
	return t, err
}

func scanToken(rows *sql.Rows) (t team.Token, err error) {
	err = rows.Scan(idInto(&t.ID), idInto(&t.Team), &t.Name, &t.Hash, momentInto(&t.CreatedAt))
	return t, err
}

// Token implements store.Reader. Nothing about the hash is put into the error.
func (q queries) Token(ctx context.Context, hash string) (team.Token, error) {
	t, err := one(ctx, q, scanToken, selectToken+" WHERE hash = $1", hash)
	return t, wrap(err, "find token")
}

// SaveToken implements store.Tx.
func (x *tx) SaveToken(t team.Token) error {
	_, err := x.write(saveToken, t.ID.String(), t.Team.String(), t.Name, t.Hash, created(t.CreatedAt))
	return wrap(err, "save token %s", t.ID)
}

// EnsureTeam implements store.Tx.
func (x *tx) EnsureTeam(name string, fresh id.Team, at time.Time) (team.Team, error) {
	find := func() (team.Team, error) {
		return one(context.Background(), x.queries, scanTeam, selectTeam+" WHERE name = $1", name)
	}
	t, err := find()
	if errors.Is(err, store.ErrNotFound) {
		if _, err := x.write(insertTeam, fresh.String(), name, created(at)); err != nil {
			return team.Team{}, wrap(err, "make team %s", name)
		}
		t, err = find()
	}
	return t, wrap(err, "find team %s", name)
}
