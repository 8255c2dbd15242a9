// Package installed is the folder of installed agents. All machines of a server see
// it, read-only:
//
//	<agent>/<version>/    what npm installed, and bin/<agent>, a link to the program
//	<agent>/current       a link to the version that new sessions get
//	.lock                 held by who changes the folder
//	.new-…  .old-…        a version in the making, or being removed
//
// A version appears and vanishes as a whole, and never changes in between.
package installed

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"paddock/internal/agents"
)

// Folder is such a folder. Several processes may use one at a time.
type Folder struct{ dir string }

// At gives the one at a path, which need not exist yet.
func At(dir string) Folder { return Folder{dir} }

// Dir is the folder.
func (f Folder) Dir() string { return f.dir }

// Agent is one installed version of an agent.
type Agent struct {
	Name    string
	Version string
	Current bool // new sessions get it
}

const current = "current"

// List gives all that is installed, the agents in the order of the catalogue,
// newer installations of each first.
func (f Folder) List() ([]Agent, error) {
	var list []Agent
	for _, name := range agents.Names() {
		of, err := f.versions(name)
		if err != nil {
			return nil, err
		}
		list = append(list, of...)
	}
	return list, nil
}

func (f Folder) versions(name string) ([]Agent, error) {
	entries, err := os.ReadDir(filepath.Join(f.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list installed agents: %w", err)
	}
	type dated struct {
		Agent
		at int64
	}
	var found []dated
	now := f.Current(name)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && e.IsDir() && f.Has(name, e.Name()) {
			found = append(found, dated{Agent{name, e.Name(), e.Name() == now}, info.ModTime().UnixNano()})
		}
	}
	slices.SortFunc(found, func(a, b dated) int { return int(min(max(b.at-a.at, -1), 1)) })
	list := make([]Agent, len(found))
	for i := range found {
		list[i] = found[i].Agent
	}
	return list, nil
}

// Current is the version of an agent that new sessions get; "" when none is
// installed.
func (f Folder) Current(name string) string {
	version, err := os.Readlink(filepath.Join(f.dir, name, current))
	if err != nil || !f.Has(name, version) {
		return ""
	}
	return version
}

// Has says whether a version of an agent is installed.
func (f Folder) Has(name, version string) bool {
	a, known := agents.Find(name)
	if !known || !plainVersion(version) {
		return false
	}
	info, err := os.Stat(filepath.Join(f.dir, name, version, a.Link()))
	return err == nil && info.Mode().IsRegular()
}

// Remove takes a version away. Machines that run it lose its files. The newest of
// the others becomes the one that new sessions get.
func (f Folder) Remove(name, version string) error {
	unlock, err := f.lock()
	if err != nil {
		return err
	}
	defer unlock()
	if !f.Has(name, version) {
		return fmt.Errorf("%s %s is not installed: %w", name, version, fs.ErrNotExist)
	}
	was := f.Current(name)
	old, err := os.MkdirTemp(f.dir, ".old-")
	if err != nil {
		return fmt.Errorf("remove %s %s: %w", name, version, err)
	}
	if err := os.Rename(filepath.Join(f.dir, name, version), filepath.Join(old, version)); err != nil {
		return fmt.Errorf("remove %s %s: %w", name, version, err)
	}
	if was == version {
		if err := f.elect(name); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(old); err != nil {
		return fmt.Errorf("remove %s %s: %w", name, version, err)
	}
	return nil
}

// elect makes the newest version of an agent the current one.
func (f Folder) elect(name string) error {
	left, err := f.versions(name)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return f.choose(name, left[0].Version)
	}
	if err := os.Remove(filepath.Join(f.dir, name, current)); err != nil {
		return fmt.Errorf("forget the version of %s: %w", name, err)
	}
	return nil
}

// choose makes a version the one that new sessions get.
func (f Folder) choose(name, version string) error {
	link := filepath.Join(f.dir, name, current)
	next := link + ".next"
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("choose %s %s: %w", name, version, err)
	}
	if err := os.Symlink(version, next); err != nil {
		return fmt.Errorf("choose %s %s: %w", name, version, err)
	}
	if err := os.Rename(next, link); err != nil {
		return fmt.Errorf("choose %s %s: %w", name, version, err)
	}
	return nil
}

// lock waits until nobody else changes the folder, and removes what those left
// behind who ended in the middle of it.
func (f Folder) lock() (unlock func(), err error) {
	if err := os.MkdirAll(f.dir, 0o755); err != nil {
		return nil, fmt.Errorf("make agents folder: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(f.dir, ".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock agents folder: %w", err)
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("lock agents folder: %w", err)
	}
	for _, kind := range []string{".new-*", ".old-*"} {
		left, _ := filepath.Glob(filepath.Join(f.dir, kind)) // the pattern is well-formed
		for _, path := range left {
			_ = os.RemoveAll(path) // or the next one does
		}
	}
	return func() { _ = file.Close() }, nil
}

// plainVersion says whether a text may be a version, and so the name of a folder.
func plainVersion(v string) bool {
	return v != "" && v != current && v[0] != '.' && strings.Trim(v, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-+") == ""
}
