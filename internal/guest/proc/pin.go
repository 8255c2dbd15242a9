package proc

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// maxLinks is how many links the way to a folder may have, as for the kernel.
const maxLinks = 40

// Where finds where a path really is, by way of the links that are not the
// user's own: a link that the user can turn leads wherever it wants, tomorrow.
// Folders that are missing are made, as the user's, where the user could make
// them. The errors are sentences for people.
func Where(name string, user User) (string, error) {
	w := walk{user: &user, make: true}
	defer w.close()
	if err := w.follow(name); err != nil {
		return "", err
	}
	return w.real(), nil
}

// pin opens what a path without links names, so that nobody can put something
// else in its place. Who calls closes it.
func pin(name string) (int, error) {
	w := walk{}
	defer w.close()
	if err := w.follow(name); err != nil {
		return -1, err
	}
	last := w.way[len(w.way)-1].fd
	w.way[len(w.way)-1].fd = -1
	return last, nil
}

// walk goes a path step by step.
type walk struct {
	user *User // whose links are not followed; nil: nobody's are
	make bool
	way  []place // from / on
}

// place is an open folder, or at the end of the way a file.
type place struct {
	name string
	fd   int
}

func (w *walk) real() string {
	names := make([]string, len(w.way))
	for i, p := range w.way {
		names[i] = p.name
	}
	return "/" + strings.Join(names[1:], "/")
}

func (w *walk) close() {
	for _, p := range w.way {
		if p.fd >= 0 {
			_ = unix.Close(p.fd)
		}
	}
}

// back goes back until only n places are left.
func (w *walk) back(n int) {
	for ; len(w.way) > n; w.way = w.way[:len(w.way)-1] {
		_ = unix.Close(w.way[len(w.way)-1].fd)
	}
}

func (w *walk) follow(name string) error {
	root, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("/ cannot be opened: %w", err)
	}
	w.way = []place{{"", root}}
	steps, links := strings.Split(name, "/"), 0
	for len(steps) > 0 {
		step := steps[0]
		steps = steps[1:]
		switch step {
		case "", ".":
			continue
		case "..":
			w.back(max(1, len(w.way)-1))
			continue
		}
		target, err := w.step(step)
		if err != nil {
			return err
		}
		if target == "" {
			continue
		}
		if links++; links > maxLinks {
			return fmt.Errorf("there are more than %d links on the way", maxLinks)
		}
		if path.IsAbs(target) {
			w.back(1)
		}
		steps = append(strings.Split(target, "/"), steps...)
	}
	return nil
}

// step goes one step on; where that is a link it stays and gives its target.
func (w *walk) step(name string) (target string, err error) {
	here := w.way[len(w.way)-1].fd
	there := path.Join(w.real(), name)
	fd, err := unix.Openat(here, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) && w.make {
		fd, err = w.create(here, name)
	}
	if err != nil {
		return "", pathFault(there, err)
	}
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		_ = unix.Close(fd)
		return "", pathFault(there, err)
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFLNK {
		w.way = append(w.way, place{name, fd})
		return "", nil
	}
	_ = unix.Close(fd)
	if w.user == nil || stat.Uid == w.user.UID {
		return "", fmt.Errorf("%s is a link that the agent itself can turn", there)
	}
	b := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(here, name, b)
	if err != nil {
		return "", pathFault(there, err)
	}
	return string(b[:n]), nil
}

// errNotTheirs says that a folder is missing that the user could not make.
var errNotTheirs = errors.New("does not exist, and is not in a folder of the agent's")

// create makes a folder of the user's, where the user could.
func (w *walk) create(parent int, name string) (int, error) {
	var stat unix.Stat_t
	if err := unix.Fstat(parent, &stat); err != nil {
		return -1, err
	}
	if !(stat.Uid == w.user.UID && stat.Mode&0o200 != 0) && stat.Mode&0o002 == 0 {
		return -1, errNotTheirs
	}
	if err := unix.Mkdirat(parent, name, 0o755); err != nil && !errors.Is(err, unix.EEXIST) {
		return -1, err
	}
	fd, err := unix.Openat(parent, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	if err := unix.Fchown(fd, int(w.user.UID), int(w.user.GID)); err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

func pathFault(there string, err error) error {
	if errors.Is(err, errNotTheirs) {
		return fmt.Errorf("%s %w", there, err)
	}
	return &os.PathError{Op: "open", Path: there, Err: err}
}
