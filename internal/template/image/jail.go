package image

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// jail is a folder that names are looked up in as if it were "/": the kernel
// resolves every link, absolute ones and "..", within it.
type jail struct {
	root *os.File
	path string // of root, free of links

	// The folder that was used last, for entries of one folder follow each other.
	// It is stale once something was removed, which may have been part of its name.
	lastName string
	last     *parent
	stale    bool
}

// parent is a folder within the jail.
type parent struct {
	*os.File
	real string // below the root, free of links, "" for the root itself
}

func openJail(folder string) (*jail, error) {
	root, err := os.OpenFile(folder, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return &jail{root: root, path: folder}, nil
}

func (j *jail) close() {
	j.forget()
	j.root.Close()
}

// forget drops the folder that was used last.
func (j *jail) forget() {
	if j.last != nil {
		j.last.Close()
		j.last = nil
	}
}

// open opens what a name below the root leads to.
func (j *jail) open(name string, flags int) (*os.File, error) {
	how := unix.OpenHow{Flags: uint64(flags | unix.O_CLOEXEC), Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV}
	for {
		fd, err := unix.Openat2(int(j.root.Fd()), orDot(name), &how)
		switch {
		case err == nil:
			return os.NewFile(uintptr(fd), name), nil
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN): // something on this host was renamed meanwhile
		default:
			return nil, err
		}
	}
}

func orDot(name string) string {
	if name == "" {
		return "."
	}
	return name
}

// folder opens the folder of this name, making what is missing of it. The jail
// closes it.
func (j *jail) folder(name string) (*parent, error) {
	if j.last != nil && j.lastName == name && !j.stale {
		return j.last, nil
	}
	const mostLinks = 40 // as many as the kernel follows
	f, err := j.reach(name, mostLinks)
	if err != nil {
		return nil, err
	}
	real, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	if err != nil {
		f.Close()
		return nil, err
	}
	if real != j.path && !strings.HasPrefix(real, j.path+"/") {
		f.Close()
		return nil, fmt.Errorf("%s leads to %s", name, real)
	}
	j.forget()
	j.lastName, j.stale, j.last = name, false, &parent{f, strings.TrimPrefix(strings.TrimPrefix(real, j.path), "/")}
	return j.last, nil
}

const folderOnly = unix.O_PATH | unix.O_DIRECTORY

// reach opens a folder, making what is missing, also where links lead to what is
// not there yet.
func (j *jail) reach(name string, links int) (*os.File, error) {
	f, err := j.open(name, folderOnly)
	if !errors.Is(err, unix.ENOENT) {
		return f, err
	}
	above, err := j.reach(dirOf(name), links)
	if err != nil {
		return nil, err
	}
	defer above.Close()
	err = unix.Mkdirat(int(above.Fd()), path.Base(name), 0o755)
	if errors.Is(err, unix.EEXIST) { // a link to what is not there
		if links == 0 {
			return nil, unix.ELOOP
		}
		target, err := readlinkAt(above, path.Base(name))
		if err != nil {
			return nil, err
		}
		if !path.IsAbs(target) {
			target = dirOf(name) + "/" + target
		}
		return j.reach(strings.TrimPrefix(path.Clean("/"+target), "/"), links-1)
	}
	if err != nil {
		return nil, err
	}
	return j.open(name, folderOnly)
}

func dirOf(name string) string {
	if dir := path.Dir(name); dir != "." {
		return dir
	}
	return ""
}

func readlinkAt(dir *os.File, name string) (string, error) {
	buffer := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(int(dir.Fd()), name, buffer)
	return string(buffer[:max(n, 0)]), err
}

// stat looks at an entry of a folder, links not followed; nil when it is absent.
func stat(dir *os.File, name string) (*unix.Stat_t, error) {
	var s unix.Stat_t
	err := unix.Fstatat(int(dir.Fd()), name, &s, unix.AT_SYMLINK_NOFOLLOW)
	if errors.Is(err, unix.ENOENT) {
		return nil, nil
	}
	return &s, err
}

// remove removes an entry of a folder and all below it; absent is no error.
func (j *jail) remove(dir *os.File, name string) error {
	j.stale = true
	err := unix.Unlinkat(int(dir.Fd()), name, 0)
	switch {
	case err == nil, errors.Is(err, unix.ENOENT):
		return nil
	case !errors.Is(err, unix.EISDIR) && !errors.Is(err, unix.EPERM):
		return err
	}
	err = j.each(dir, name, func(in *os.File, child string) error { return j.remove(in, child) })
	if err != nil {
		return err
	}
	return unix.Unlinkat(int(dir.Fd()), name, unix.AT_REMOVEDIR)
}

// each calls do for every entry of a folder's folder.
func (j *jail) each(dir *os.File, name string, do func(in *os.File, child string) error) error {
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	in := os.NewFile(uintptr(fd), name)
	defer in.Close()
	names, err := in.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, child := range names {
		if err := do(in, child); err != nil {
			return err
		}
	}
	return nil
}
