package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"paddock/internal/environment"
	"paddock/internal/event"
	"paddock/internal/failpoint"
	"paddock/internal/fault"
	"paddock/internal/id"
	"paddock/internal/sandbox"
	"paddock/internal/session"
	"paddock/internal/store"
)

const (
	// imageDeadline is how long the image of a template may take to come and to be
	// unpacked. Starting a machine with it has a deadline of its own.
	imageDeadline = 30 * time.Minute
	// imageTell is how often a session that waits for its image says how far it is.
	imageTell = 2 * time.Second
)

// images is what the engine knows of images being made.
type images struct {
	port sandbox.Images // nil: there are none

	// holding is held, for reading, by who makes or chooses an image that nothing
	// stored names yet, and for writing while images are removed.
	holding sync.RWMutex
	untidy  atomic.Bool // there may be images that nothing needs

	mu      sync.Mutex
	fetches map[id.Template]*fetch
}

// fetch is the making of a template's image.
type fetch struct {
	done chan struct{} // closed once the template says how it went

	mu   sync.Mutex
	said string // how far it is
}

func (f *fetch) say(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.said = text
}

func (f *fetch) last() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.said
}

// fetchImage begins to make the image of a template that is being built, or
// gives the fetch that is under way.
func (e *Engine) fetchImage(template id.Template) *fetch {
	e.images.mu.Lock()
	defer e.images.mu.Unlock()
	if f := e.images.fetches[template]; f != nil {
		return f
	}
	f := &fetch{done: make(chan struct{})}
	e.images.fetches[template] = f
	end := func() {
		e.images.mu.Lock()
		delete(e.images.fetches, template)
		e.images.mu.Unlock()
		close(f.done)
	}
	if !e.spawn(func(ctx context.Context) { defer end(); e.makeImage(ctx, template, f.say) }) {
		go end() // the engine has stopped; end takes our lock, and nothing else
	}
	return f
}

// makeImage fetches and unpacks a template's image and stores how that went.
func (e *Engine) makeImage(ctx context.Context, template id.Template, say func(string)) {
	e.images.holding.RLock()
	defer e.images.untidy.Store(true)
	defer e.images.holding.RUnlock()
	t, err := e.store.Template(ctx, template)
	if err != nil || t.State != store.TemplateBuilding {
		return // it was removed, or is there already
	}
	inTime, cancel := context.WithTimeout(ctx, imageDeadline)
	defer cancel()
	e.log.InfoContext(ctx, "fetching image", "template", t.Name, "source", t.Source)
	got, err := e.images.port.Pull(inTime, t.Source, say)
	if ctx.Err() != nil {
		return // the server stops; the next one begins again
	}
	failpoint.Hit("image.there")
	now := store.Template{State: store.TemplateReady, Digest: got.Digest}
	if err != nil {
		e.log.ErrorContext(ctx, "fetch image", "template", t.Name, "source", t.Source, "error", err)
		now = store.Template{State: store.TemplateFailed, Digest: t.Digest, Reason: imageSentence(err)}
	}
	err = e.store.Update(ctx, func(tx store.Tx) error {
		t, err := tx.Template(ctx, template)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		t.State, t.Digest, t.Reason, t.UpdatedAt = now.State, now.Digest, now.Reason, e.now()
		return tx.SaveTemplate(t)
	})
	if err != nil && ctx.Err() == nil {
		e.log.ErrorContext(ctx, "store template", "template", t.Name, "error", err)
	}
}

// imageSentence says to people why an image could not be had.
func imageSentence(err error) string {
	var f *fault.Error
	switch {
	case errors.As(err, &f):
		return f.Message
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("it was not there within %s", imageDeadline)
	}
	return "it could not be unpacked; the server's log has the details"
}

// resumeImages goes on with the images that were being made when the last server
// ended.
func (e *Engine) resumeImages(ctx context.Context) error {
	if e.images.port == nil {
		return nil
	}
	open, err := e.store.Templates(ctx, store.TemplateFilter{States: []store.TemplateState{store.TemplateBuilding}})
	if err != nil {
		return fmt.Errorf("list templates: %w", err)
	}
	for _, t := range open {
		e.fetchImage(t.ID)
	}
	e.images.untidy.Store(true)
	return nil
}

// tidyImages removes the images that nothing needs, spares of them first. While
// one is being made it does nothing: it is due again after.
func (e *Engine) tidyImages(ctx context.Context) {
	if e.images.port == nil {
		return
	}
	if !e.images.holding.TryLock() {
		e.images.untidy.Store(true)
		return
	}
	defer e.images.holding.Unlock()
	list, err := e.store.ImagesInUse(ctx)
	if err != nil {
		if ctx.Err() == nil {
			e.log.Error("look for images that nothing needs", "error", err)
		}
		return
	}
	used := map[string]bool{}
	for _, digest := range list {
		used[digest] = true
	}
	for _, digest := range e.pool.discard(ctx, func(template string) bool { return isDigest(template) && !used[template] }) {
		used[digest] = true // a spare of it is being made
		e.images.untidy.Store(true)
	}
	if err := e.images.port.Retain(func(digest string) bool { return used[digest] }); err != nil {
		e.log.Error("remove images that nothing needs", "error", err)
	}
}

func isDigest(template string) bool { return strings.HasPrefix(template, "sha256:") }

// awaitImage waits until the image of a session that is provisioning is there,
// and makes it the session's for life. Meanwhile the history says how far it is.
func (e *Engine) awaitImage(ctx context.Context, s session.Session) (session.Session, error) {
	told := time.NewTicker(imageTell)
	defer told.Stop()
	var said string
	for {
		t, err := e.store.Template(ctx, s.Template)
		switch {
		case errors.Is(err, store.ErrNotFound):
			return s, fault.New(fault.Conflict, "its template was removed")
		case err != nil:
			return s, fmt.Errorf("read template: %w", err)
		case t.Digest != "":
			return e.takeImage(ctx, s, t)
		case t.State == store.TemplateFailed:
			return s, fault.New(fault.BadGateway, "its image %s could not be had: %s", t.Name, t.Reason)
		}
		f := e.fetchImage(t.ID)
		for waiting := true; waiting; {
			select {
			case <-f.done:
				waiting = false
			case <-told.C:
				if now := f.last(); now != said {
					said = now
					e.tellImage(ctx, s.ID, t.Name, now)
				}
			case <-ctx.Done():
				return s, context.Cause(ctx)
			}
		}
		if e.ctx.Err() != nil {
			return s, context.Cause(e.ctx)
		}
	}
}

// takeImage gives the session the image, and all the time of a start.
func (e *Engine) takeImage(ctx context.Context, s session.Session, t store.Template) (session.Session, error) {
	err := e.change(ctx, s.ID, func(c *change) error {
		if c.s.State != session.Provisioning {
			return errNotStarting
		}
		// Its template may have been removed since, and the image with it.
		if now, err := c.tx.Template(ctx, t.ID); err != nil || now.Digest != t.Digest {
			return fault.New(fault.Conflict, "its template was removed or replaced meanwhile")
		}
		c.s.Image, c.s.Deadline, c.dirty = t.Digest, c.now.Add(bootDeadline), true
		return nil
	})
	if err != nil {
		return s, err
	}
	return e.store.SessionByID(ctx, s.ID)
}

func (e *Engine) tellImage(ctx context.Context, sid id.Session, name, text string) {
	err := e.change(ctx, sid, func(c *change) error {
		c.emit(id.Run{}, event.RunLog, event.Log{Level: "info", Message: text, Fields: map[string]any{"template": name}})
		return nil
	})
	if err != nil && ctx.Err() == nil {
		e.log.Error("tell how far an image is", "session_id", sid, "error", err)
	}
}

// ownVariables are those that a machine sets for each of its users.
var ownVariables = []string{"HOME", "USER", "LOGNAME", "SHELL", "PWD"}

// withImage gives the spec with the environment of the session's image below its
// own.
func (e *Engine) withImage(s session.Session, spec environment.Spec) environment.Spec {
	if s.Image == "" || e.images.port == nil {
		return spec
	}
	image, err := e.images.port.Image(s.Image)
	if err != nil {
		e.log.Error("read image", "session_id", s.ID, "digest", s.Image, "error", err)
		return spec
	}
	env := map[string]string{}
	for name, value := range image.Env {
		if !slices.Contains(ownVariables, name) && !strings.HasPrefix(name, "PADDOCK_") {
			env[name] = value
		}
	}
	maps.Copy(env, spec.Env)
	spec.Env = env
	return spec
}
