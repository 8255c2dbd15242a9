package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"paddock/internal/environment"
	"paddock/internal/fault"
	"paddock/internal/id"
	"paddock/internal/session"
	"paddock/internal/store"
)

// EnvironmentRequest asks for an environment.
type EnvironmentRequest struct {
	Name string // in the form of a session's
	Spec []byte // the YAML text
	By   string // name of the caller's token
	Once Once[CreatedEnvironment]
}

// CreatedEnvironment is an environment as it was made, and what of its spec does
// not hold.
type CreatedEnvironment struct {
	Environment environment.Environment
	Warnings    []string
}

// CreateEnvironment stores a recipe under a name. One of the same name that means
// the same is given back instead; of several that mean different things, a name
// finds the newest.
func (e *Engine) CreateEnvironment(ctx context.Context, team id.Team, req EnvironmentRequest) (CreatedEnvironment, error) {
	if err := req.Once.check(ctx, e.store, team, e.now()); err != nil {
		return CreatedEnvironment{}, err
	}
	if err := session.CheckName(req.Name); err != nil {
		return CreatedEnvironment{}, fault.New(fault.BadRequest, "name: %s", err)
	}
	made, err := e.newEnvironment(team, req.Spec)
	if err != nil {
		return CreatedEnvironment{}, err
	}
	env := &made.Environment
	env.Name, env.CreatedBy, env.CreatedAt = req.Name, req.By, e.now()
	if err := ctx.Err(); err != nil {
		return CreatedEnvironment{}, context.Cause(ctx)
	}
	err = e.store.Update(context.WithoutCancel(ctx), func(tx store.Tx) error {
		if err := req.Once.check(ctx, tx, team, env.CreatedAt); err != nil {
			return err
		}
		if err := saveOnce(ctx, tx, env); err != nil {
			return err
		}
		return req.Once.keep(tx, team, env.CreatedAt, made)
	})
	if err != nil {
		return CreatedEnvironment{}, fmt.Errorf("store environment: %w", err)
	}
	return made, nil
}

// newEnvironment reads a spec, whose secrets it seals. A strict rule that its
// agent cannot keep is BadRequest.
func (e *Engine) newEnvironment(team id.Team, text []byte) (CreatedEnvironment, error) {
	spec, notes, err := environment.Parse(text, session.CheckName)
	if err != nil {
		return CreatedEnvironment{}, fault.New(fault.BadRequest, "%s", err)
	}
	hash, err := spec.ContentHash()
	if err != nil {
		return CreatedEnvironment{}, err
	}
	source, err := environment.Redact(text)
	if err != nil {
		return CreatedEnvironment{}, err
	}
	made := CreatedEnvironment{Environment: environment.Environment{
		ID: id.New[id.Environment](), Team: team, Source: source, Spec: spec, ContentHash: hash,
	}}
	if err := e.seal(&made.Environment); err != nil {
		return CreatedEnvironment{}, err
	}
	for _, n := range notes {
		made.Warnings = append(made.Warnings, n.String())
	}
	unkept, err := checkRules(spec)
	made.Warnings = slices.Concat(made.Warnings, unkept, e.agentNotes(spec), e.closedNotes(spec))
	return made, err
}

// saveOnce inserts an environment, unless the team has one of the same name and
// content: then env becomes that.
func saveOnce(ctx context.Context, tx store.Tx, env *environment.Environment) error {
	same, err := tx.Environments(ctx, store.EnvironmentFilter{Team: env.Team, Name: env.Name, ContentHash: env.ContentHash, Limit: 1})
	if err != nil {
		return err
	}
	if len(same) > 0 {
		*env = same[0]
		return nil
	}
	return tx.SaveEnvironment(*env)
}

// Environment finds an environment that is not removed, by id or name.
func (e *Engine) Environment(ctx context.Context, team id.Team, ref string) (environment.Environment, error) {
	if which, err := id.Parse[id.Environment](ref); err == nil {
		return findEnvironment(ctx, e.store, team, which)
	}
	found, err := e.store.Environments(ctx, store.EnvironmentFilter{Team: team, Name: ref, Limit: 1})
	if err != nil {
		return environment.Environment{}, fmt.Errorf("find environment: %w", err)
	}
	if len(found) == 0 {
		return environment.Environment{}, noEnvironment(ref)
	}
	return found[0], nil
}

func noEnvironment(ref string) error {
	return fault.New(fault.NotFound, "there is no environment %.64q", ref)
}

// findEnvironment finds an environment of the team that is not removed.
func findEnvironment(ctx context.Context, reader store.Reader, team id.Team, which id.Environment) (environment.Environment, error) {
	env, err := reader.Environment(ctx, which)
	if err == nil && (env.Team != team || !env.RemovedAt.IsZero()) {
		err = store.ErrNotFound
	}
	if errors.Is(err, store.ErrNotFound) {
		return env, noEnvironment(which.String())
	}
	if err != nil {
		return env, fmt.Errorf("find environment: %w", err)
	}
	return env, nil
}

// Environments lists a team's environments, newest first, and gives the token of
// the next page, empty at the end.
func (e *Engine) Environments(ctx context.Context, team id.Team, size int, token string) (list []environment.Environment, next string, err error) {
	size = pageSize(size)
	filter := store.EnvironmentFilter{Team: team, Limit: size + 1}
	pages := pagesOf("environments", team)
	if token != "" {
		last, err := pages.last(token)
		if err != nil {
			return nil, "", err
		}
		if filter.Before, err = id.Parse[id.Environment](last); err != nil {
			return nil, "", badPageToken(token)
		}
	}
	if list, err = e.store.Environments(ctx, filter); err != nil {
		return nil, "", fmt.Errorf("list environments: %w", err)
	}
	if len(list) > size {
		list = list[:size]
		next = pages.token(list[size-1].ID)
	}
	return list, next, nil
}

// RemoveEnvironment takes an environment off the lists, so that no session can be
// made from it. It is Conflict while a session that is not over was.
func (e *Engine) RemoveEnvironment(ctx context.Context, team id.Team, ref string) error {
	env, err := e.Environment(ctx, team, ref)
	if err != nil {
		return err
	}
	err = e.store.Update(ctx, func(tx store.Tx) error {
		if _, err := findEnvironment(ctx, tx, team, env.ID); err != nil {
			return err
		}
		users, err := tx.Sessions(ctx, store.SessionFilter{Team: team, Environment: env.ID, States: listed, Limit: 1})
		if err != nil {
			return fmt.Errorf("find sessions of environment: %w", err)
		}
		if len(users) > 0 {
			return fault.New(fault.Conflict, "session %s is made from environment %s; remove the session first", users[0].Name, env.Name)
		}
		return tx.RemoveEnvironment(env.ID, e.now())
	})
	if err == nil {
		e.forgetSecrets(env.ID)
	}
	return err
}
