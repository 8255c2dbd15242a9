package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"paddock/internal/environment"
	"paddock/internal/fault"
	"paddock/internal/id"
	"paddock/internal/session"
	"paddock/internal/store"
)

// root is what a new session's root file system is made of; the zero value is the
// host's own system.
type root struct {
	name  string         // of the template
	seen  store.Template // as it was when it was chosen; zero: none is stored yet
	fresh store.Template // to be stored with the session, where an image is named for the first time
}

var errNoImages = fault.New(fault.NotSupported, "this server keeps no templates but host")

// needsImage says whether a spec's root is made of an image.
func needsImage(spec environment.Spec) bool {
	return spec.Image != "" || spec.Template != environment.DefaultTemplate
}

// chooseRoot finds what a spec names. Who calls it where an image is needed holds
// images.holding until the session is stored.
func (e *Engine) chooseRoot(ctx context.Context, team id.Team, spec environment.Spec, by string) (root, error) {
	switch {
	case !needsImage(spec):
		return root{}, nil
	case e.images.port == nil:
		return root{}, errNoImages
	case spec.Image == "":
		t, err := findTemplate(ctx, e.store, team, spec.Template)
		if fault.Is(err, fault.NotFound) {
			err = fault.New(fault.BadRequest, "template: there is no template %.64q; add it with paddock template add IMAGE --name %.64s, or name an image of a registry with image: instead", spec.Template, spec.Template)
		}
		if err == nil && t.Digest == "" && t.State == store.TemplateFailed {
			err = fault.New(fault.Conflict, "template %s could not be made: %s", t.Name, t.Reason)
		}
		return root{name: t.Name, seen: t}, err
	}
	name, err := e.images.port.Name(spec.Image)
	if err != nil {
		return root{}, prefixed("image: ", err)
	}
	t, err := findTemplate(ctx, e.store, team, name)
	if fault.Is(err, fault.NotFound) {
		fresh := store.Template{ID: id.New[id.Template](), Team: team, Name: name, Source: name, State: store.TemplateBuilding, CreatedBy: by, CreatedAt: e.now(), UpdatedAt: e.now()}
		return root{name: name, fresh: fresh}, nil
	}
	return root{name: name, seen: t}, err
}

// prefixed says of what the fault is one.
func prefixed(what string, err error) error {
	var f *fault.Error
	if !errors.As(err, &f) {
		return err
	}
	return fault.Wrap(f.Cause, f.Code, "%s%s", what, f.Message)
}

// digest is of the image that the session can have at once; empty when it has to
// wait.
func (r root) digest() string { return r.seen.Digest }

// kind is the kind of machine that a spec asks for with this root; there is no
// spare of one whose image is not there yet.
func (r root) kind(spec environment.Spec) kind {
	k := kindOf(spec)
	if r.name != "" {
		k.template = r.digest()
	}
	return k
}

// settleRoot gives a session that is being stored its root. An image that could not
// be had is tried again.
func (e *Engine) settleRoot(ctx context.Context, tx store.Tx, r root, s *session.Session) error {
	if r.name == "" {
		return nil
	}
	t := r.fresh
	if !r.seen.ID.IsZero() {
		var err error
		if t, err = tx.Template(ctx, r.seen.ID); err != nil || r.seen.Digest != "" && t.Digest != r.seen.Digest {
			return fault.New(fault.Conflict, "template %s was changed meanwhile; try again", r.name)
		}
		if t.Digest == "" && t.State == store.TemplateFailed {
			t.State, t.UpdatedAt = store.TemplateBuilding, e.now()
		}
	} else if same, err := findTemplate(ctx, tx, s.Team, r.name); err == nil {
		t = same // somebody was quicker
	} else if !fault.Is(err, fault.NotFound) {
		return err
	}
	s.Template, s.Image = t.ID, t.Digest
	s.Deadline = s.CreatedAt.Add(startTime(*s))
	if t.State != store.TemplateBuilding {
		return nil
	}
	return tx.SaveTemplate(t)
}

// startTime is how long a session may take to be up.
func startTime(s session.Session) time.Duration {
	if !s.Template.IsZero() && s.Image == "" {
		return imageDeadline + bootDeadline
	}
	return bootDeadline
}

// findTemplate finds a template of the team by id or name.
func findTemplate(ctx context.Context, reader store.Reader, team id.Team, ref string) (store.Template, error) {
	if ref == environment.DefaultTemplate {
		return store.Template{}, fault.New(fault.NotFound, "host is a view of this machine's own system, which no template is kept of")
	}
	absent := func() error { return fault.New(fault.NotFound, "there is no template %.300q", ref) }
	if which, err := id.Parse[id.Template](ref); err == nil {
		t, err := reader.Template(ctx, which)
		if errors.Is(err, store.ErrNotFound) || err == nil && t.Team != team {
			return store.Template{}, absent()
		}
		if err != nil {
			return t, fmt.Errorf("find template: %w", err)
		}
		return t, nil
	}
	found, err := reader.Templates(ctx, store.TemplateFilter{Team: team, Name: ref, Limit: 1})
	if err != nil {
		return store.Template{}, fmt.Errorf("find template: %w", err)
	}
	if len(found) == 0 {
		return store.Template{}, absent()
	}
	return found[0], nil
}
