package engine

import (
	"context"
	"errors"
	"fmt"

	"paddock/internal/fault"
	"paddock/internal/id"
	"paddock/internal/store"
	"paddock/internal/team"
)

// Authenticate finds whose token it is.
func (e *Engine) Authenticate(ctx context.Context, token string) (team.Token, error) {
	if token == "" {
		return team.Token{}, fault.New(fault.Unauthorized, "a token is needed: send Authorization: Bearer <token>")
	}
	t, err := e.store.Token(ctx, team.HashToken(token))
	if errors.Is(err, store.ErrNotFound) {
		return t, fault.New(fault.Unauthorized, "the token is not known to this server")
	}
	if err != nil {
		return t, fmt.Errorf("find token: %w", err)
	}
	return t, nil
}

// EnsureToken makes a token of the default team known, if it is not yet; name
// says where it came from.
func (e *Engine) EnsureToken(ctx context.Context, token, name string) error {
	hash := team.HashToken(token)
	if _, err := e.store.Token(ctx, hash); !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return e.store.Update(ctx, func(tx store.Tx) error {
		t, err := tx.EnsureTeam(team.DefaultName, id.New[id.Team](), e.now())
		if err != nil {
			return err
		}
		return tx.SaveToken(team.Token{ID: id.New[id.Token](), Team: t.ID, Name: name, Hash: hash, CreatedAt: e.now()})
	})
}
