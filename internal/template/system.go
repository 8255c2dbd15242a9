package template

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// shown is what of the host's system the template shows: trees and single
// files, below the host's root. /bin, /lib and their like are added as they
// are: links into /usr, or folders of their own on older systems.
//
// /etc/ssl is not shown as a whole, for it holds private keys and the guest's
// root does not care for file modes.
var shown = []string{"usr", "etc/ssl/certs", "etc/alternatives", "etc/ld.so.cache", "var/lib/dpkg"}

// rootLinks are the names in / that merged systems have as links into /usr.
var rootLinks = []string{"bin", "sbin", "lib", "lib32", "lib64", "libx32", "libo32"}

// hidden is what the trees shown lack: local configuration, and what is large
// and of no use inside.
var hidden = []string{"usr/local/etc", "usr/src", "usr/lib/modules", "lib/modules"}

// entry is a name in a folder.
type entry struct {
	name string
	stat unix.Stat_t
}

func (e entry) kind() uint32 { return e.stat.Mode & unix.S_IFMT }

// public says whether everybody may read the entry: what not everybody may
// read on the host does not exist inside, where there is a root of its own.
func (e entry) public() bool {
	if e.kind() == unix.S_IFDIR {
		return e.stat.Mode&0o005 == 0o005
	}
	return e.stat.Mode&0o004 != 0
}

// folder is a folder of the host that the template has, with what it has of it.
type folder struct {
	path    string // below the host's root, "usr/bin"
	stat    unix.Stat_t
	entries []entry // folders among them only as names
}

// plan is what a farm will be made of.
type plan struct {
	folders     []folder // parents before children
	files       []string // single files of shown
	links       map[string]string
	entries     int
	fingerprint string
}

// plan looks at the whole system.
func (t *Templates) plan(ctx context.Context) (*plan, error) {
	w := walk{templates: t}
	group, ctx := errgroup.WithContext(ctx)
	// More walkers than CPUs: where the disk's cache is cold they wait.
	group.SetLimit(4 * runtime.GOMAXPROCS(0))
	w.ctx, w.group = ctx, group

	p := &plan{links: map[string]string{}}
	trees := slices.Clone(shown)
	for _, name := range rootLinks {
		path := filepath.Join(t.source, name)
		if target, err := os.Readlink(path); err == nil {
			p.links[name] = target
		} else if info, err := os.Lstat(path); err == nil && info.IsDir() {
			trees = append(trees, name)
		}
	}
	for _, name := range trees {
		var stat unix.Stat_t
		err := unix.Lstat(filepath.Join(t.source, name), &stat)
		if err == unix.ENOENT {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		switch one := (entry{name, stat}); {
		case !one.public() || t.excluded("/"+name):
		case one.kind() == unix.S_IFDIR:
			group.Go(func() error { return w.read(name, stat) })
		case one.kind() == unix.S_IFREG:
			p.files = append(p.files, name)
			w.add(folder{path: name, stat: stat})
		}
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	slices.SortFunc(w.folders, func(a, b folder) int { return strings.Compare(a.path, b.path) })
	p.fingerprint = fingerprint(w.folders, p.links, t.composed())
	p.folders = slices.DeleteFunc(w.folders, func(f folder) bool { return slices.Contains(p.files, f.path) })
	p.entries = int(w.entries.Load())
	return p, nil
}

// walk visits trees with many walkers.
type walk struct {
	templates *Templates
	ctx       context.Context
	group     *errgroup.Group
	entries   atomic.Int64

	mu      sync.Mutex
	folders []folder
}

func (w *walk) add(f folder) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.folders = append(w.folders, f)
}

// visit reads a folder, on a walker of its own if one is free.
func (w *walk) visit(path string, stat unix.Stat_t) error {
	if w.group.TryGo(func() error { return w.read(path, stat) }) {
		return nil
	}
	return w.read(path, stat)
}

func (w *walk) read(path string, stat unix.Stat_t) error {
	if w.ctx.Err() != nil {
		return context.Cause(w.ctx)
	}
	dir, err := os.Open(filepath.Join(w.templates.source, path))
	if err != nil {
		return err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return err
	}
	slices.Sort(names)
	f := folder{path: path, stat: stat, entries: make([]entry, 0, len(names))}
	for _, name := range names {
		var e entry
		e.name = name
		err := unix.Fstatat(int(dir.Fd()), name, &e.stat, unix.AT_SYMLINK_NOFOLLOW)
		if err == unix.ENOENT {
			continue // removed while we look
		}
		if err != nil {
			return fmt.Errorf("%s/%s: %w", path, name, err)
		}
		if w.takes(path+"/"+name, e) {
			f.entries = append(f.entries, e)
		}
	}
	w.entries.Add(int64(len(f.entries)))
	w.add(f)
	for _, e := range f.entries {
		if e.kind() == unix.S_IFDIR {
			if err := w.visit(path+"/"+e.name, e.stat); err != nil {
				return err
			}
		}
	}
	return nil
}

// takes says whether the template has the entry at path.
func (w *walk) takes(path string, e entry) bool {
	switch e.kind() {
	case unix.S_IFDIR:
		if slices.Contains(hidden, path) {
			return false
		}
	case unix.S_IFLNK:
		return !w.templates.excluded("/" + path)
	case unix.S_IFREG:
	default: // devices, sockets, pipes
		return false
	}
	if w.templates.excluded("/" + path) {
		return false
	}
	return e.public()
}

// fingerprint identifies the content: names, inodes, sizes, times, modes and
// owners of everything taken, and what is composed. Times of change are not in
// it, for making a hard link changes them.
func fingerprint(folders []folder, links, composed map[string]string) string {
	sum := sha256.New()
	texts(sum, "farm 1") // of the way farms are made
	for _, f := range folders {
		texts(sum, f.path)
		stat(sum, &f.stat)
		for i := range f.entries {
			texts(sum, f.entries[i].name)
			if f.entries[i].kind() != unix.S_IFDIR {
				stat(sum, &f.entries[i].stat)
			}
		}
	}
	for _, table := range []map[string]string{links, composed} {
		for _, name := range slices.Sorted(maps.Keys(table)) {
			texts(sum, name, table[name])
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

func texts(sum hash.Hash, all ...string) {
	for _, text := range all {
		sum.Write([]byte(text))
		sum.Write([]byte{0})
	}
}

func stat(sum hash.Hash, s *unix.Stat_t) {
	var b [56]byte
	for i, n := range [7]uint64{
		uint64(s.Dev), s.Ino, uint64(s.Size), uint64(s.Mtim.Sec), uint64(s.Mtim.Nsec), uint64(s.Mode), uint64(s.Uid)<<32 | uint64(s.Gid),
	} {
		binary.LittleEndian.PutUint64(b[8*i:], n)
	}
	sum.Write(b[:])
}
