package engine

import (
	"context"
	"errors"
	"fmt"

	"paddock/internal/fault"
	"paddock/internal/id"
	"paddock/internal/redaction"
	"paddock/internal/session"
	"paddock/internal/store"
)

// Runs lists a session's runs, newest first, and gives the token of the next
// page, empty at the end.
func (e *Engine) Runs(ctx context.Context, team id.Team, ref string, size int, token string) ([]session.Run, string, error) {
	s, err := e.find(ctx, team, ref)
	if err != nil {
		return nil, "", err
	}
	filter := store.RunFilter{Session: s.ID, Newest: true, Limit: pageSize(size) + 1}
	list := pagesOf("runs", s.ID)
	if token != "" {
		last, err := list.last(token)
		if err != nil {
			return nil, "", err
		}
		if filter.After, err = id.Parse[id.Run](last); err != nil {
			return nil, "", badPageToken(token)
		}
	}
	runs, err := e.store.Runs(ctx, filter)
	if errors.Is(err, store.ErrNotFound) {
		return nil, "", badPageToken(token)
	}
	if err != nil {
		return nil, "", fmt.Errorf("list runs: %w", err)
	}
	next := ""
	if n := filter.Limit - 1; len(runs) > n {
		runs = runs[:n]
		next = list.token(runs[n-1].ID)
	}
	veil, err := e.veil(ctx, e.store, s.Environment)
	for i := range runs {
		hideInput(&runs[i], veil)
	}
	return runs, next, err
}

// Run finds one run of a session.
func (e *Engine) Run(ctx context.Context, team id.Team, ref, run string) (session.Run, error) {
	s, err := e.find(ctx, team, ref)
	if err != nil {
		return session.Run{}, err
	}
	r, err := e.runOf(ctx, s, run)
	if err != nil {
		return r, err
	}
	veil, err := e.veil(ctx, e.store, s.Environment)
	hideInput(&r, veil)
	return r, err
}

// hideInput hides the values of secrets that a person has written into an input.
// The agent is given it as it is, so it is kept so until the run has ended.
func hideInput(r *session.Run, veil *redaction.Veil) {
	r.Text, r.SourceRaw = veil.Text(r.Text), veil.Bytes(r.SourceRaw)
}

func (e *Engine) runOf(ctx context.Context, s session.Session, run string) (session.Run, error) {
	rid, err := id.Parse[id.Run](run)
	if err != nil {
		return session.Run{}, fault.New(fault.NotFound, "session %s has no run %s", s.Name, run)
	}
	r, err := e.store.Run(ctx, s.ID, rid)
	if err != nil {
		return r, absent(err, "session %s has no run %s", s.Name, run)
	}
	return r, nil
}

// Missing is NotFound for the first thing that is not there: the session, when
// one is named, or the thing of this kind; nil when it is there. Of kinds that
// this build does not serve yet there is nothing.
func (e *Engine) Missing(ctx context.Context, team id.Team, ref, kind, name string) error {
	if ref != "" {
		if _, err := e.find(ctx, team, ref); err != nil {
			return err
		}
	}
	if kind == "template" {
		_, err := findTemplate(ctx, e.store, team, name)
		return err
	}
	return fault.New(fault.NotFound, "there is no %s %.64q", kind, name)
}

// Unserved is the answer of a public call that this build does not serve yet:
// NotFound, Conflict by the session's state or (for calls that need a boundary)
// its active run, else NotSupported. ref is empty for calls without a session.
func (e *Engine) Unserved(ctx context.Context, team id.Team, ref, what string, needsBoundary bool) error {
	if ref != "" {
		s, err := e.find(ctx, team, ref)
		if err != nil {
			return err
		}
		if s.State != session.Ready && s.State != session.Paused {
			return fault.New(fault.Conflict, "%s", notNow(s))
		}
		if needsBoundary {
			r, err := activeRun(ctx, e.store, s.ID)
			if err != nil {
				return fmt.Errorf("read active run: %w", err)
			}
			if r != nil {
				return fault.New(fault.Conflict, "run %s is active in session %s; wait for it to end or cancel it", r.ID, s.Name)
			}
		}
	}
	return fault.New(fault.NotSupported, "%s is not supported yet", what)
}
