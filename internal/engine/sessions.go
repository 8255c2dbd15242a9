package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"paddock/internal/environment"
	"paddock/internal/event"
	"paddock/internal/failpoint"
	"paddock/internal/fault"
	"paddock/internal/id"
	"paddock/internal/logging"
	"paddock/internal/session"
	"paddock/internal/store"
	"paddock/internal/tracing"
)

// CreateSession reserves a name and a slot and begins to make the sandbox. The
// row is durable when it returns; the session is provisioning then.
func (e *Engine) CreateSession(ctx context.Context, team id.Team, req CreateRequest) (View, []string, error) {
	ctx, span := e.trace.Start(ctx, "create") // until it is ready
	in, err := e.admitSession(ctx, team, req)
	if err != nil {
		span.End(err)
		return View{}, nil, err
	}
	span.Note(tracing.Session(in.session.ID.String()), tracing.Agent(in.session.Adapter))
	a := e.actor(in.session.ID)
	a.post(func(life context.Context) {
		span.End(e.bringUp(logging.Carry(life, ctx), a, in.place, in.session, in.spec))
	})
	return e.fresh(in.session), in.warnings, nil
}

// admitted is a session that is stored, and whose machine is to be made.
type admitted struct {
	session  session.Session
	spec     environment.Spec
	root     root
	place    *place
	warnings []string
}

// admitSession reserves all that a new session needs and stores it.
func (e *Engine) admitSession(ctx context.Context, team id.Team, req CreateRequest) (in admitted, err error) {
	ctx, span := e.trace.Start(ctx, "admission")
	defer func() { span.End(err) }()
	if err := req.Once.check(ctx, e.store, team, e.now()); err != nil {
		return in, err // name and slot are the first one's by now
	}
	recipe, err := e.recipe(ctx, team, req)
	if err != nil {
		return in, err
	}
	if err := e.checkFilesystem(recipe.Environment.Spec); err != nil {
		return in, err
	}
	pin, err := e.pinAgent(recipe.Environment.Spec)
	if err != nil {
		return in, err
	}
	defer pin.done()
	env := recipe.Environment
	in.spec, in.warnings = env.Spec, recipe.Warnings
	name := env.Spec.Name
	if req.Name != "" {
		name = req.Name
	}
	if needsImage(env.Spec) {
		e.images.holding.RLock() // until what is chosen is stored
		defer e.images.holding.RUnlock()
	}
	if in.root, err = e.chooseRoot(ctx, team, env.Spec, req.By); err != nil {
		return in, err
	}
	in.place = e.makePlace(ctx, in.root.kind(env.Spec))
	defer func() {
		if err != nil {
			in.place.leave()
			e.images.untidy.Store(true) // a spare that came back may have a root that nothing needs
		}
	}()
	generated := name == ""
	for {
		if generated {
			name = session.GenerateName(env.Spec.Agent)
		} else if err := session.CheckName(name); err != nil {
			return in, fault.New(fault.BadRequest, "name: %s", err)
		}
		in.session, err = e.insert(ctx, team, name, env, pin.version, in, req)
		if generated && errors.Is(err, store.ErrNameInUse) {
			continue
		}
		if err != nil {
			return in, e.createRefused(err, name)
		}
		in.spec = e.withPlaceholders(in.spec, in.session.Environment)
		return in, nil
	}
}

// fresh is a session as its create is answered.
func (e *Engine) fresh(s session.Session) View {
	can := e.driver.Capabilities()
	return View{Session: s, Isolation: can.Isolation, Limits: can.Limits}
}

// recipe reads the spec, or finds the environment, of a new session.
func (e *Engine) recipe(ctx context.Context, team id.Team, req CreateRequest) (CreatedEnvironment, error) {
	var made CreatedEnvironment
	var err error
	if req.Environment == "" {
		made, err = e.newEnvironment(team, req.Spec)
		made.Environment.CreatedBy = req.By
	} else if made.Environment, err = e.Environment(ctx, team, req.Environment); err == nil {
		if made.Environment.Spec, err = e.unseal(made.Environment); err != nil {
			return made, err
		}
		made.Warnings, err = checkRules(made.Environment.Spec)
		made.Warnings = slices.Concat(made.Warnings, e.agentNotes(made.Environment.Spec), e.closedNotes(made.Environment.Spec))
	}
	made.Warnings = slices.Concat(e.warnings(), e.beyond(made.Environment.Spec), made.Warnings)
	return made, err
}

func (e *Engine) insert(ctx context.Context, team id.Team, name string, env environment.Environment, version string, in admitted, req CreateRequest) (session.Session, error) {
	now := e.now()
	s := session.Session{
		ID: id.New[id.Session](), Team: team, Name: name, Environment: env.ID, Adapter: env.Spec.Agent, AdapterVersion: version,
		State: session.Provisioning, IdleTimeout: env.Spec.IdleTimeout, KeepWarm: env.Spec.KeepWarm,
		ResumeOnTopoff: req.ResumeOnTopoff, OpenAISession: req.OpenAISession,
		CreatedAt: now, LastEventAt: now, ActiveAt: now, Deadline: now.Add(bootDeadline), Memory: memoryKept,
	}
	spare := in.place.spare
	if spare != nil {
		s.Sandbox = spare.id
	}
	var last event.Event
	if err := ctx.Err(); err != nil {
		return s, context.Cause(ctx)
	}
	// As in change: what is committed has to be followed up, whoever has left.
	err := e.store.Update(context.WithoutCancel(ctx), func(tx store.Tx) error {
		if err := req.Once.check(ctx, tx, team, now); err != nil {
			return err
		}
		if err := e.useEnvironment(ctx, tx, &env, name, req); err != nil {
			return err
		}
		s.Environment = env.ID
		if err := e.settleRoot(ctx, tx, in.root, &s); err != nil {
			return err
		}
		if err := tx.CreateSession(s, e.limit); err != nil {
			return err
		}
		if in.place.refused != nil { // last: name and slot say what waiting would not change
			return in.place.refused
		}
		if spare != nil {
			if err := tx.SaveMachine(store.Machine{Session: s.ID, Sandbox: spare.id, Handle: spare.handle, Epoch: firstEpoch, CreatedAt: now}); err != nil {
				return err
			}
		}
		if err := req.Once.keep(tx, team, now, Created{e.fresh(s), in.warnings}); err != nil {
			return err
		}
		events, err := tx.Append(s.ID, now, event.NewDraft(id.Run{}, event.SessionUpdated, event.SessionState{Status: s.State.Wire()}))
		if err == nil {
			last = events[0]
		}
		return err
	})
	if err != nil {
		return s, err
	}
	failpoint.Hit("create.stored")
	s.LastSeq = last.Seq
	e.publish(s, last)
	logging.NoteSession(ctx, s.ID.String())
	e.log.InfoContext(ctx, "session created", "session_id", s.ID, "name", s.Name, "adapter", s.Adapter)
	return s, nil
}

// useEnvironment makes sure that a new session's environment is stored: a spec
// makes one of the session's name, unless one of that name and content is there.
func (e *Engine) useEnvironment(ctx context.Context, tx store.Tx, env *environment.Environment, name string, req CreateRequest) error {
	if req.Environment != "" {
		_, err := findEnvironment(ctx, tx, env.Team, env.ID) // it may have been removed meanwhile
		return err
	}
	env.Name, env.CreatedAt = name, e.now()
	return saveOnce(ctx, tx, env)
}

func (e *Engine) createRefused(err error, name string) error {
	switch {
	case errors.Is(err, store.ErrNameInUse):
		return fault.New(fault.Conflict, "name %q is in use by another session; choose another one or remove that session", name)
	case errors.Is(err, store.ErrNoSlot):
		return fault.New(fault.Conflict, "team is at the limit of %d active sessions", e.limit)
	case fault.Is(err, fault.Unavailable), fault.Is(err, fault.NotFound), fault.Is(err, fault.Conflict):
		return err
	}
	return fmt.Errorf("store session: %w", err)
}

// Session finds a session by id or name.
func (e *Engine) Session(ctx context.Context, team id.Team, ref string) (View, error) {
	s, err := e.find(ctx, team, ref)
	if err != nil {
		return View{}, err
	}
	return e.view(ctx, s)
}

func (e *Engine) view(ctx context.Context, s session.Session) (View, error) {
	r, err := activeRun(ctx, e.store, s.ID)
	if err != nil {
		return View{}, fmt.Errorf("read active run: %w", err)
	}
	queued, err := e.store.Runs(ctx, store.RunFilter{Session: s.ID, States: []session.RunState{session.RunQueued}})
	if err != nil {
		return View{}, fmt.Errorf("read queued runs: %w", err)
	}
	can := e.driver.Capabilities()
	v := View{Session: s, Run: r, Queued: len(queued), Isolation: can.Isolation, Limits: can.Limits}
	if e.points != nil {
		v.Saved, _ = e.points.Newest(s.ID)
	}
	if m := e.machineOf(s.ID); m != nil && s.State == session.Ready && r == nil {
		v.IdleAt = m.idleAt()
	}
	return v, nil
}

// listed are the states that a list shows when none is asked for.
var listed = []session.State{session.Provisioning, session.Ready, session.Paused, session.Updating, session.Destroying}

// Sessions lists a team's sessions, newest first, and gives the token of the
// next page, empty at the end.
func (e *Engine) Sessions(ctx context.Context, team id.Team, req ListRequest) ([]View, string, error) {
	filter := store.SessionFilter{Team: team, States: req.States, Name: req.Name, Search: req.Search, Environment: req.Environment}
	if len(req.States) == 0 && !req.All {
		filter.States = listed
	}
	size := pageSize(req.PageSize)
	filter.Limit = size + 1
	list := pagesOf("sessions", team, req.States, req.All, session.NameKey(req.Name), req.Search, req.Parent, req.Environment)
	if req.PageToken != "" {
		last, err := list.last(req.PageToken)
		if err != nil {
			return nil, "", err
		}
		if filter.Before, err = id.Parse[id.Session](last); err != nil {
			return nil, "", badPageToken(req.PageToken)
		}
	}
	if !req.Parent.IsZero() {
		return []View{}, "", nil // no session of this build has a parent
	}
	found, err := e.store.Sessions(ctx, filter)
	if err != nil {
		return nil, "", fmt.Errorf("list sessions: %w", err)
	}
	next := ""
	if len(found) > size {
		found = found[:size]
		next = list.token(found[size-1].ID)
	}
	views := make([]View, len(found))
	for i, s := range found {
		if views[i], err = e.view(ctx, s); err != nil {
			return nil, "", err
		}
	}
	return views, next, nil
}

// SetResumeOnTopoff gives or takes the consent to resume by itself after a
// top-up.
func (e *Engine) SetResumeOnTopoff(ctx context.Context, team id.Team, ref string, on bool) (View, error) {
	s, err := e.find(ctx, team, ref)
	if err != nil {
		return View{}, err
	}
	err = e.change(ctx, s.ID, func(c *change) error {
		if st := c.s.State; st == session.Destroying || st == session.Destroyed || st == session.Failed {
			return fault.New(fault.Conflict, "%s", notNow(c.s))
		}
		if c.s.ResumeOnTopoff == on {
			return errNoChange
		}
		c.s.ResumeOnTopoff, c.dirty = on, true
		return nil
	})
	if err != nil {
		return View{}, err
	}
	return e.Session(ctx, team, s.ID.String())
}

// find gives the session that ref, an id or a name, means in the team.
func (e *Engine) find(ctx context.Context, team id.Team, ref string) (session.Session, error) {
	s, err := e.store.Session(ctx, team, ref)
	if err != nil {
		return s, absent(err, "there is no session %s", ref)
	}
	logging.NoteSession(ctx, s.ID.String())
	return s, nil
}

// absent makes NotFound of the store's word for it.
func absent(err error, format string, args ...any) error {
	if errors.Is(err, store.ErrNotFound) {
		return fault.New(fault.NotFound, format, args...)
	}
	return fmt.Errorf("read store: %w", err)
}
