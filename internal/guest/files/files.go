// Package files lists and reads the workspace. Every path is resolved by the
// kernel below the workspace (openat2 with RESOLVE_BENEATH), so no name, link
// or race leads out of it.
package files

import (
	"errors"
	"io"
	"os"
	"path"
	"sort"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"paddock/internal/fault"
	"paddock/internal/guestapi"
)

// MaxEntries bounds one listing; a longer folder is TooLarge.
const MaxEntries = 50_000

// Workspace is the folder tree at Root (an absolute, clean path).
type Workspace struct{ Root string }

// List lists a folder by name; errors as guestapi.Guest.ListFiles says.
func (w Workspace) List(name string) ([]guestapi.File, error) {
	rel, err := w.relative(name)
	if err != nil {
		return nil, err
	}
	dir, err := w.open(rel, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(MaxEntries + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fault.Wrap(err, fault.Internal, "the folder %q cannot be read", rel)
	}
	if len(names) > MaxEntries {
		return nil, fault.New(fault.TooLarge, "the folder %q has more than %d entries; list it with exec", rel, MaxEntries)
	}
	sort.Strings(names)
	files := make([]guestapi.File, 0, len(names))
	for _, n := range names {
		f, err := describe(int(dir.Fd()), n)
		if errors.Is(err, unix.ENOENT) {
			continue // removed since
		}
		if err != nil {
			return nil, fault.Wrap(err, fault.Internal, "the entry %q of %q cannot be read", n, rel)
		}
		f.Path = path.Join(rel, n)
		files = append(files, f)
	}
	return files, nil
}

// Read opens a regular file at offset; errors as guestapi.Guest.ReadFile says.
// An offset past the end gives no bytes.
func (w Workspace) Read(name string, offset, length int64) (guestapi.File, io.ReadCloser, error) {
	if offset < 0 {
		return guestapi.File{}, nil, fault.New(fault.BadRequest, "the offset %d is negative", offset)
	}
	rel, err := w.relative(name)
	if err != nil {
		return guestapi.File{}, nil, err
	}
	// To open a device may do something and to open a pipe may wait, so look
	// first; what is opened after that is looked at again.
	probe, err := w.open(rel, unix.O_PATH)
	if err != nil {
		return guestapi.File{}, nil, err
	}
	defer probe.Close()
	if _, err := regular(probe, rel); err != nil {
		return guestapi.File{}, nil, err
	}
	f, err := w.open(rel, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY)
	if err != nil {
		return guestapi.File{}, nil, err
	}
	info, err := regular(f, rel)
	if err == nil {
		_, err = f.Seek(offset, io.SeekStart)
	}
	if err != nil {
		_ = f.Close()
		return guestapi.File{}, nil, err
	}
	if length < 0 {
		return info, f, nil
	}
	return info, limited{io.LimitReader(f, length), f}, nil
}

type limited struct {
	io.Reader
	io.Closer
}

// regular describes an open file, or says what else it is.
func regular(f *os.File, rel string) (guestapi.File, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return guestapi.File{}, fault.Wrap(err, fault.Internal, "%q cannot be read", rel)
	}
	info := fileOf(path.Base(rel), &st)
	info.Path = rel
	switch info.Type {
	case "file":
		return info, nil
	case "dir":
		return info, fault.New(fault.BadRequest, "%q is a folder", rel)
	default:
		return info, fault.New(fault.BadRequest, "%q is no regular file", rel)
	}
}

// describe looks at one entry of a folder without following it.
func describe(dir int, name string) (guestapi.File, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return guestapi.File{}, err
	}
	f := fileOf(name, &st)
	if f.Type == "symlink" {
		target := make([]byte, unix.PathMax)
		n, err := unix.Readlinkat(dir, name, target)
		if err != nil {
			return guestapi.File{}, err
		}
		f.Target = string(target[:n])
	}
	return f, nil
}

func fileOf(name string, st *unix.Stat_t) guestapi.File {
	kind := "other"
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		kind = "file"
	case unix.S_IFDIR:
		kind = "dir"
	case unix.S_IFLNK:
		kind = "symlink"
	}
	return guestapi.File{
		Name: name, Type: kind, Size: st.Size, Mode: st.Mode & 0o7777, ModTime: time.Unix(st.Mtim.Unix()).UTC(),
	}
}

// relative gives the path below the workspace that a caller's name means: "x",
// "./x" and "/workspace/x" are the same, "" is the workspace itself. What ".."
// means depends on links, so it is left to the kernel.
func (w Workspace) relative(name string) (string, error) {
	if strings.ContainsRune(name, 0) {
		return "", fault.New(fault.BadRequest, "the path %q has a zero byte", name)
	}
	rel := name
	if path.IsAbs(name) {
		var below bool
		rel, below = strings.CutPrefix(name+"/", w.Root+"/")
		if !below {
			return "", outside(name)
		}
	}
	if rel = strings.Trim(rel, "/"); rel == "" {
		return ".", nil
	}
	return rel, nil
}

func outside(name string) error {
	return fault.New(fault.Forbidden, "%q leads out of the workspace", name)
}
