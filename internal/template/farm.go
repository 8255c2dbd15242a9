package template

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// builder puts a plan's entries under root.
type builder struct {
	source, root string
	copied       atomic.Int64 // bytes of files that could not be links
	made         atomic.Int64
}

// farm makes folders and hard links, and says how many bytes had to be copied.
func (t *Templates) farm(ctx context.Context, p *plan, root string, progress func(string)) (copied int64, err error) {
	b := &builder{source: t.source, root: root}
	for name, target := range p.links {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			return 0, err
		}
	}
	for _, name := range p.files {
		if err := b.single(name); err != nil {
			return 0, fmt.Errorf("/%s: %w", name, err)
		}
	}
	for i := range p.folders { // parents first
		if err := os.MkdirAll(filepath.Join(root, p.folders[i].path), 0o755); err != nil {
			return 0, err
		}
	}
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(2 * runtime.GOMAXPROCS(0))
	const tell = 25_000 // entries between two sentences
	told := int64(0)
	for i := range p.folders {
		group.Go(func() error {
			if groupCtx.Err() != nil {
				return context.Cause(groupCtx)
			}
			return b.fill(&p.folders[i])
		})
		if made := b.made.Load(); made >= told+tell {
			told = made
			progress(fmt.Sprintf("linking this machine's system: %d of %d files", made, p.entries))
		}
	}
	if err := group.Wait(); err != nil {
		return 0, err
	}
	// Last, for filling a folder changes its time, and some caches go by it.
	for i := len(p.folders) - 1; i >= 0; i-- {
		if err := b.finish(&p.folders[i]); err != nil {
			return 0, err
		}
	}
	return b.copied.Load(), nil
}

// single takes over one file of a folder that is not taken as a whole.
func (b *builder) single(name string) error {
	parent := filepath.Dir(name)
	if err := os.MkdirAll(filepath.Join(b.root, parent), 0o755); err != nil {
		return err
	}
	one := entry{name: filepath.Base(name)}
	if err := unix.Lstat(filepath.Join(b.source, name), &one.stat); err != nil {
		return err
	}
	return b.fill(&folder{path: parent, entries: []entry{one}})
}

// fill puts a folder's entries, without its folders, into the farm.
func (b *builder) fill(f *folder) error {
	from, err := openFolder(filepath.Join(b.source, f.path))
	if err != nil {
		return err
	}
	defer unix.Close(from)
	to, err := openFolder(filepath.Join(b.root, f.path))
	if err != nil {
		return err
	}
	defer unix.Close(to)
	for i := range f.entries {
		if err := b.put(&f.entries[i], from, to); err != nil && !errors.Is(err, unix.ENOENT) { // removed meanwhile: its plan is outdated anyhow
			return fmt.Errorf("/%s/%s: %w", f.path, f.entries[i].name, err)
		}
	}
	b.made.Add(int64(len(f.entries)))
	return nil
}

func (b *builder) put(e *entry, from, to int) error {
	const special = unix.S_ISUID | unix.S_ISGID
	switch {
	case e.kind() == unix.S_IFDIR:
		return nil
	case e.kind() == unix.S_IFREG && e.stat.Mode&special != 0:
		// A link would have the bits as well.
		_, err := b.copy(e, from, to)
		return err
	}
	err := unix.Linkat(from, e.name, to, e.name, 0)
	switch {
	case err == nil:
		return nil
	case !errors.Is(err, unix.EXDEV) && !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EMLINK):
		return err
	case e.kind() == unix.S_IFLNK:
		return copyLink(e, from, to)
	default:
		n, err := b.copy(e, from, to)
		b.copied.Add(n)
		return err
	}
}

// copy makes a file of its own with the content: a clone, where the file
// system can share it, else real bytes, which it counts.
func (b *builder) copy(e *entry, from, to int) (bytes int64, err error) {
	in, err := openAt(from, e.name, unix.O_RDONLY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	out, err := openAt(to, e.name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, 0o600)
	if err != nil {
		return 0, err
	}
	defer out.Close()
	if unix.IoctlFileClone(int(out.Fd()), int(in.Fd())) != nil {
		if bytes, err = io.Copy(out, in); err != nil {
			return bytes, err
		}
	}
	if err := own(func(uid, gid int) error { return unix.Fchown(int(out.Fd()), uid, gid) }, &e.stat); err != nil {
		return bytes, err
	}
	if err := unix.Fchmod(int(out.Fd()), e.stat.Mode&0o777); err != nil {
		return bytes, err
	}
	return bytes, setTime(to, e.name, &e.stat)
}

func copyLink(e *entry, from, to int) error {
	buffer := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(from, e.name, buffer)
	if err != nil {
		return err
	}
	if err := unix.Symlinkat(string(buffer[:n]), to, e.name); err != nil {
		return err
	}
	return own(func(uid, gid int) error { return unix.Fchownat(to, e.name, uid, gid, unix.AT_SYMLINK_NOFOLLOW) }, &e.stat)
}

// finish gives a farm's folder the owner, mode and time of the host's; without
// setgid, which would pass on to what is made in it.
func (b *builder) finish(f *folder) error {
	path := filepath.Join(b.root, f.path)
	if err := own(func(uid, gid int) error { return unix.Lchown(path, uid, gid) }, &f.stat); err != nil {
		return err
	}
	if err := unix.Chmod(path, f.stat.Mode&0o1777); err != nil {
		return err
	}
	return setTime(unix.AT_FDCWD, path, &f.stat)
}

// own gives a file to its owner on the host, which only root can.
func own(chown func(uid, gid int) error, s *unix.Stat_t) error {
	if os.Geteuid() != 0 {
		return nil
	}
	return chown(int(s.Uid), int(s.Gid))
}

func setTime(dir int, name string, s *unix.Stat_t) error {
	times := []unix.Timespec{s.Mtim, s.Mtim}
	return unix.UtimesNanoAt(dir, name, times, unix.AT_SYMLINK_NOFOLLOW)
}

func openFolder(path string) (int, error) {
	return unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
}

func openAt(dir int, name string, flags int, mode uint32) (*os.File, error) {
	fd, err := unix.Openat(dir, name, flags|unix.O_CLOEXEC, mode)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// writeCopied and readCopied keep, beside a farm, how many bytes it took.
func writeCopied(path string, bytes int64) error {
	return os.WriteFile(path+".copied", []byte(strconv.FormatInt(bytes, 10)), 0o600)
}

func readCopied(path string) int64 {
	text, _ := os.ReadFile(path + ".copied")
	n, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n
}
