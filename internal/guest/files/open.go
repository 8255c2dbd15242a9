package files

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"paddock/internal/fault"
)

// open opens a clean relative path below the workspace. Links are followed as
// long as they stay inside; links of /proc that jump are not.
func (w Workspace) open(rel string, flags int) (*os.File, error) {
	root, err := unix.Open(w.Root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, "the workspace cannot be opened")
	}
	defer unix.Close(root)
	fd, err := beneath(root, rel, flags)
	if err != nil {
		return nil, w.explain(root, rel, err)
	}
	return os.NewFile(uintptr(fd), rel), nil
}

// beneath is openat2 below root. EAGAIN means that something was renamed during
// a walk through "..": the kernel asks to try again.
func beneath(root int, rel string, flags int) (fd int, err error) {
	how := unix.OpenHow{
		Flags:   uint64(flags | unix.O_CLOEXEC),
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS,
	}
	for range 100 {
		fd, err = unix.Openat2(root, rel, &how)
		if err != unix.EAGAIN && err != unix.EINTR {
			break
		}
	}
	return fd, err
}

// explain turns an errno into a fault that names the entry at which it went wrong.
func (w Workspace) explain(root int, rel string, err error) error {
	switch {
	case errors.Is(err, unix.EXDEV):
		return outside(leavesAt(root, rel))
	case errors.Is(err, unix.ENOENT):
		return fault.New(fault.NotFound, "there is no %q in the workspace", rel)
	case errors.Is(err, unix.ENOTDIR):
		if fd, err := beneath(root, rel, unix.O_PATH); err == nil {
			_ = unix.Close(fd)
			return fault.New(fault.BadRequest, "%q is no folder", rel)
		}
		return fault.New(fault.NotFound, "there is no %q in the workspace", rel)
	case errors.Is(err, unix.ELOOP):
		return fault.New(fault.Forbidden, "%q goes through too many links", rel)
	case errors.Is(err, unix.ENXIO), errors.Is(err, unix.ENODEV):
		return fault.New(fault.BadRequest, "%q is no regular file", rel)
	case errors.Is(err, unix.ENAMETOOLONG):
		return fault.New(fault.BadRequest, "the path is too long")
	default:
		return fault.Wrap(err, fault.Internal, "%q cannot be opened", rel)
	}
}

// leavesAt is the shortest beginning of rel that leads out.
func leavesAt(root int, rel string) string {
	for i, c := range rel + "/" {
		if c != '/' {
			continue
		}
		fd, err := beneath(root, rel[:i], unix.O_PATH)
		if err == nil {
			_ = unix.Close(fd)
		} else if errors.Is(err, unix.EXDEV) {
			return rel[:i]
		}
	}
	return rel
}
