package engine

import (
	"context"
	"fmt"
	"io"
	"strings"

	"paddock/internal/environment"
	"paddock/internal/fault"
	"paddock/internal/id"
	"paddock/internal/sandbox"
	"paddock/internal/session"
	"paddock/internal/store"
)

// TemplateRequest asks for a template, or for another image of one.
type TemplateRequest struct {
	Name   string // in the form of a session's
	Source string // reference to an image of a registry
	Base   string // what public clients say; it means nothing here
	By     string // name of the caller's token
	Once   Once[TemplateView]
}

// TemplateView is a template as callers see it.
type TemplateView struct {
	store.Template
	Image    sandbox.Image // zero while it has none
	Progress string        // how far the image is that is being made
}

func (e *Engine) templateView(t store.Template) (TemplateView, error) {
	v := TemplateView{Template: t}
	if t.State == store.TemplateBuilding {
		e.images.mu.Lock()
		f := e.images.fetches[t.ID]
		e.images.mu.Unlock()
		if f != nil {
			v.Progress = f.last()
		}
	}
	if t.Digest == "" || e.images.port == nil {
		return v, nil
	}
	var err error
	if v.Image, err = e.images.port.Image(t.Digest); err != nil {
		return v, fmt.Errorf("read image of template %s: %w", t.Name, err)
	}
	return v, nil
}

// checkTemplateName says what is wrong with the name of a new template.
func checkTemplateName(name string) error {
	if err := session.CheckName(name); err != nil {
		return fault.New(fault.BadRequest, "name: %s", err)
	}
	if name == environment.DefaultTemplate || id.LooksLike[id.Template](name) {
		return fault.New(fault.BadRequest, "name: %q means something else; choose another one", name)
	}
	return nil
}

// CreateTemplate stores a template and begins to fetch its image.
func (e *Engine) CreateTemplate(ctx context.Context, team id.Team, req TemplateRequest) (TemplateView, error) {
	if e.images.port == nil {
		return TemplateView{}, errNoImages
	}
	if err := req.Once.check(ctx, e.store, team, e.now()); err != nil {
		return TemplateView{}, err
	}
	if err := checkTemplateName(req.Name); err != nil {
		return TemplateView{}, err
	}
	source, err := e.images.port.Name(req.Source)
	if err != nil {
		return TemplateView{}, prefixed("source_oci_ref: ", err)
	}
	t := store.Template{
		ID: id.New[id.Template](), Team: team, Name: req.Name, Source: source, Base: req.Base, State: store.TemplateBuilding,
		CreatedBy: req.By, CreatedAt: e.now(), UpdatedAt: e.now(),
	}
	if err := ctx.Err(); err != nil {
		return TemplateView{}, context.Cause(ctx)
	}
	err = e.store.Update(context.WithoutCancel(ctx), func(tx store.Tx) error {
		if err := req.Once.check(ctx, tx, team, t.CreatedAt); err != nil {
			return err
		}
		if _, err := findTemplate(ctx, tx, team, t.Name); !fault.Is(err, fault.NotFound) {
			return templateNameInUse(t.Name, err)
		}
		if err := tx.SaveTemplate(t); err != nil {
			return err
		}
		return req.Once.keep(tx, team, t.CreatedAt, TemplateView{Template: t})
	})
	if err != nil {
		return TemplateView{}, err
	}
	e.fetchImage(t.ID)
	return e.templateView(t)
}

// templateNameInUse is Conflict, unless looking for the name has failed.
func templateNameInUse(name string, err error) error {
	if err != nil {
		return err
	}
	return fault.New(fault.Conflict, "there is a template %s already; choose another name, remove it, or give it another image with paddock template update", name)
}

// ImportTemplate unpacks an image that the caller sends and stores it as a
// template. The same image under the same name again is no error.
func (e *Engine) ImportTemplate(ctx context.Context, team id.Team, req TemplateRequest, archive io.Reader) (TemplateView, error) {
	if e.images.port == nil {
		return TemplateView{}, errNoImages
	}
	if err := checkTemplateName(req.Name); err != nil {
		return TemplateView{}, err
	}
	e.images.holding.RLock()
	defer e.images.untidy.Store(true)
	defer e.images.holding.RUnlock()
	inTime, cancel := context.WithTimeout(ctx, imageDeadline)
	defer cancel()
	got, err := e.images.port.Import(inTime, archive, func(string) {})
	if err != nil {
		return TemplateView{}, fmt.Errorf("import image: %w", err)
	}
	t := store.Template{
		ID: id.New[id.Template](), Team: team, Name: req.Name, State: store.TemplateReady, Digest: got.Digest,
		CreatedBy: req.By, CreatedAt: e.now(), UpdatedAt: e.now(),
	}
	err = e.store.Update(ctx, func(tx store.Tx) error {
		switch same, err := findTemplate(ctx, tx, team, t.Name); {
		case fault.Is(err, fault.NotFound):
			return tx.SaveTemplate(t)
		case err == nil && same.Digest == t.Digest:
			t = same
			return nil
		default:
			return templateNameInUse(t.Name, err)
		}
	})
	if err != nil {
		return TemplateView{}, err
	}
	e.log.InfoContext(ctx, "template imported", "template", t.Name, "digest", t.Digest)
	return e.templateView(t)
}

// Template finds a template by id or name.
func (e *Engine) Template(ctx context.Context, team id.Team, ref string) (TemplateView, error) {
	t, err := findTemplate(ctx, e.store, team, ref)
	if err != nil {
		return TemplateView{}, err
	}
	return e.templateView(t)
}

// Templates lists a team's templates, newest first, and gives the token of the
// next page, empty at the end.
func (e *Engine) Templates(ctx context.Context, team id.Team, size int, token string) (list []TemplateView, next string, err error) {
	size = pageSize(size)
	filter := store.TemplateFilter{Team: team, Limit: size + 1}
	pages := pagesOf("templates", team)
	if token != "" {
		last, err := pages.last(token)
		if err != nil {
			return nil, "", err
		}
		if filter.Before, err = id.Parse[id.Template](last); err != nil {
			return nil, "", badPageToken(token)
		}
	}
	found, err := e.store.Templates(ctx, filter)
	if err != nil {
		return nil, "", fmt.Errorf("list templates: %w", err)
	}
	if len(found) > size {
		found = found[:size]
		next = pages.token(found[size-1].ID)
	}
	list = make([]TemplateView, len(found))
	for i, t := range found {
		if list[i], err = e.templateView(t); err != nil {
			return nil, "", err
		}
	}
	return list, next, nil
}

// UpdateTemplate fetches a template's image anew, from another reference if one
// is given. Sessions that have the present one keep it; those made meanwhile get
// it, too.
func (e *Engine) UpdateTemplate(ctx context.Context, team id.Team, ref string, req TemplateRequest) (TemplateView, error) {
	if _, err := findTemplate(ctx, e.store, team, ref); err != nil {
		return TemplateView{}, err
	}
	source := ""
	if req.Source != "" {
		var err error
		if e.images.port == nil {
			return TemplateView{}, errNoImages
		}
		if source, err = e.images.port.Name(req.Source); err != nil {
			return TemplateView{}, prefixed("source_oci_ref: ", err)
		}
	}
	var t store.Template
	err := e.store.Update(ctx, func(tx store.Tx) (err error) {
		if t, err = findTemplate(ctx, tx, team, ref); err != nil {
			return err
		}
		switch {
		case t.State == store.TemplateBuilding:
			return fault.New(fault.Conflict, "the image of template %s is being fetched; wait for it", t.Name)
		case source == "" && t.Source == "":
			return fault.New(fault.BadRequest, "template %s was sent as a file; name the image that it shall have (source_oci_ref)", t.Name)
		case source != "" && t.Source == t.Name && source != t.Source:
			return fault.New(fault.BadRequest, "template %s is that reference; add another one for %s", t.Name, source)
		case source != "":
			t.Source = source
		}
		if req.Base != "" {
			t.Base = req.Base
		}
		t.State, t.Reason, t.UpdatedAt = store.TemplateBuilding, "", e.now()
		return tx.SaveTemplate(t)
	})
	if err != nil {
		return TemplateView{}, err
	}
	e.fetchImage(t.ID)
	return e.templateView(t)
}

// templateUsers is how many of those that use a template are named.
const templateUsers = 3

// RemoveTemplate forgets a template, and its image unless something else has it.
// It is Conflict while a session that is not over, or an environment, uses it. What
// an environment names by its reference is no obstacle: it is fetched again.
func (e *Engine) RemoveTemplate(ctx context.Context, team id.Team, ref string) (id.Template, error) {
	var t store.Template
	err := e.store.Update(ctx, func(tx store.Tx) (err error) {
		if t, err = findTemplate(ctx, tx, team, ref); err != nil {
			return err
		}
		sessions, err := tx.Sessions(ctx, store.SessionFilter{Team: team, Template: t.ID, States: listed, Limit: templateUsers + 1})
		if err != nil {
			return fmt.Errorf("find sessions of template: %w", err)
		}
		var users []string
		for _, s := range sessions {
			users = append(users, s.Name)
		}
		if len(users) > 0 {
			return fault.New(fault.Conflict, "template %s is in use by %s; remove that first", t.Name, someOf("session", users))
		}
		environments, err := tx.Environments(ctx, store.EnvironmentFilter{Team: team})
		if err != nil {
			return fmt.Errorf("find environments of template: %w", err)
		}
		for _, env := range environments {
			if env.Spec.Image == "" && (env.Spec.Template == t.Name || env.Spec.Template == t.ID.String()) {
				users = append(users, env.Name)
			}
		}
		if len(users) > 0 {
			return fault.New(fault.Conflict, "template %s is named by %s; remove that first, with paddock env remove", t.Name, someOf("environment", users))
		}
		return tx.DeleteTemplate(t.ID)
	})
	if err != nil {
		return id.Template{}, err
	}
	e.log.InfoContext(ctx, "template removed", "template", t.Name, "digest", t.Digest)
	e.tidyImages(ctx)
	return t.ID, nil
}

// someOf names some of several things, such as "sessions a, b and more".
func someOf(what string, names []string) string {
	more := ""
	if len(names) > templateUsers {
		names, more = names[:templateUsers], " and more"
	}
	if len(names) > 1 {
		what += "s"
	}
	return what + " " + strings.Join(names, ", ") + more
}
