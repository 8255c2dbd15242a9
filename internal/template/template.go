package template

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"paddock/internal/sandbox"
	"paddock/internal/template/image"
)

// Host is the name of the template that shows this machine's own system.
const Host = "host"

// Options is what Templates need to know.
type Options struct {
	// Dir keeps the farms, e.g. /var/lib/paddock-templates; it is made (0700)
	// when absent. On the file system of /usr no data is copied. Absolute.
	Dir string
	// Exclude are absolute paths of the host that are never part of a
	// template, e.g. the server's data folder.
	Exclude []string
	// Images are what templates that are digests are made of; nil: there are none.
	Images *image.Images
	// Logger gets one line per farm built or removed.
	Logger *slog.Logger
}

// Templates are the root file systems of this host. They are safe for
// concurrent use.
type Templates struct {
	dir     string
	exclude []string
	source  string // "/"; tests have another
	images  *image.Images
	logger  *slog.Logger

	mu   sync.Mutex
	host *preparing // the host template, once asked for
}

// preparing is a Prepare under way or done.
type preparing struct {
	done chan struct{}
	root sandbox.Root
	lock *os.File // held as long as this process lives
	err  error
}

var _ sandbox.Rootfs = (*Templates)(nil)

// New makes Templates; it builds nothing yet.
func New(options Options) (*Templates, error) {
	if !filepath.IsAbs(options.Dir) {
		return nil, fmt.Errorf("template folder %q is not absolute", options.Dir)
	}
	if err := os.MkdirAll(options.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make template folder: %w", err)
	}
	dir, err := filepath.EvalSymlinks(options.Dir)
	if err != nil {
		return nil, fmt.Errorf("find template folder: %w", err)
	}
	exclude := []string{dir}
	for _, path := range options.Exclude {
		if !filepath.IsAbs(path) {
			return nil, fmt.Errorf("excluded path %q is not absolute", path)
		}
		if real, err := filepath.EvalSymlinks(path); err == nil {
			exclude = append(exclude, real)
		}
		exclude = append(exclude, filepath.Clean(path))
	}
	return &Templates{dir: dir, exclude: exclude, source: "/", images: options.Images, logger: options.Logger}, nil
}

// Prepare is part of sandbox.Rootfs. The first call of a process looks at the
// whole system (well under a second) and builds the farm if no server has built
// it before; later calls give what the first gave, whatever was installed since.
// A Prepare that failed may be tried again.
func (t *Templates) Prepare(ctx context.Context, template string, progress func(string)) (sandbox.Root, error) {
	if t.images != nil && strings.HasPrefix(template, "sha256:") {
		root, err := t.images.Root(template)
		if errors.Is(err, sandbox.ErrNoImage) {
			err = fmt.Errorf("image %s is not on this host any more: %w", template, err)
		}
		return root, err
	}
	if template != Host {
		return sandbox.Root{}, fmt.Errorf("template %q is unknown; there is: %s", template, Host)
	}
	if progress == nil {
		progress = func(string) {}
	}
	t.mu.Lock()
	p := t.host
	first := p == nil
	if first {
		p = &preparing{done: make(chan struct{})}
		t.host = p
	}
	t.mu.Unlock()
	if first {
		p.root, p.lock, p.err = t.prepare(ctx, progress)
		if p.err != nil {
			t.mu.Lock()
			t.host = nil
			t.mu.Unlock()
		}
		close(p.done)
	}
	select {
	case <-p.done:
		return p.root, p.err
	case <-ctx.Done():
		return sandbox.Root{}, context.Cause(ctx)
	}
}

// Close lets other servers remove what this one used.
func (t *Templates) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.host == nil {
		return nil
	}
	lock := t.host.lock
	t.host = nil
	if lock == nil {
		return nil
	}
	return lock.Close()
}

// prepare finds or builds the farm of the system as it is now.
func (t *Templates) prepare(ctx context.Context, progress func(string)) (_ sandbox.Root, held *os.File, err error) {
	began := time.Now()
	progress("looking at this machine's system")
	plan, err := t.plan(ctx)
	if err != nil {
		return sandbox.Root{}, nil, fmt.Errorf("look at this machine's system: %w", err)
	}
	name := Host + "-" + plan.fingerprint[:32]
	root := sandbox.Root{Path: filepath.Join(t.dir, name), Fingerprint: plan.fingerprint}

	building, err := lockFile(ctx, filepath.Join(t.dir, "lock"), unix.LOCK_EX)
	if err != nil {
		return sandbox.Root{}, nil, fmt.Errorf("wait for another server's template: %w", err)
	}
	defer building.Close()
	if held, err = lockFile(ctx, root.Path+".lock", unix.LOCK_SH); err != nil {
		return sandbox.Root{}, nil, fmt.Errorf("hold template: %w", err)
	}
	defer func() {
		if err != nil {
			held.Close()
		}
	}()

	_, err = os.Stat(root.Path)
	if errors.Is(err, fs.ErrNotExist) {
		err = t.build(ctx, plan, root.Path, progress)
		if err == nil {
			t.logger.Info("template built", "template", Host, "entries", plan.entries, "took", time.Since(began))
		}
	}
	if err != nil {
		return sandbox.Root{}, nil, fmt.Errorf("build template %s: %w", Host, err)
	}
	t.removeOld(name)
	if copied := readCopied(root.Path); copied > 0 {
		root.Warnings = append(root.Warnings, fmt.Sprintf(
			"the template folder %s cannot share files with /usr: %d MiB were copied", t.dir, copied>>20))
	}
	return root, held, nil
}

// build makes the farm under another name, so that what stands under path is
// whole, whenever the server was killed.
func (t *Templates) build(ctx context.Context, plan *plan, path string, progress func(string)) (err error) {
	temporary, err := os.MkdirTemp(t.dir, "building-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(temporary))
		}
	}()
	if err := os.Chmod(temporary, 0o755); err != nil {
		return err
	}
	copied, err := t.farm(ctx, plan, temporary, progress)
	if err != nil {
		return err
	}
	if err := t.skeleton(temporary); err != nil {
		return fmt.Errorf("compose: %w", err)
	}
	if err := writeCopied(path, copied); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}

// lockFile opens path and locks it; closing the file gives the lock back, and
// so does the end of the process.
func lockFile(ctx context.Context, path string, how int) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := unix.Flock(int(file.Fd()), how|unix.LOCK_NB)
		if err == nil {
			return file, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			file.Close()
			return nil, err
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			file.Close()
			return nil, context.Cause(ctx)
		}
	}
}

// excluded says whether the host's path is never part of a template.
func (t *Templates) excluded(path string) bool {
	return slices.ContainsFunc(t.exclude, func(e string) bool {
		return path == e || strings.HasPrefix(path, e+"/")
	})
}
