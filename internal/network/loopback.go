// Package network gives machines their networks: for now one network namespace
// each, with nothing in it but a loopback interface.
package network

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"

	"paddock/internal/sandbox"
)

// Loopback is a sandbox.Network whose namespaces have no way out.
type Loopback struct{ folder string }

var _ sandbox.Network = (*Loopback)(nil)

// NewLoopback keeps the namespace files in folder, which is made when absent
// (0700). Folder must be absolute.
func NewLoopback(folder string) (*Loopback, error) {
	if !filepath.IsAbs(folder) {
		return nil, fmt.Errorf("folder %q is not absolute", folder)
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("make namespace folder: %w", err)
	}
	return &Loopback{folder: folder}, nil
}

// Warning is part of sandbox.Network.
func (*Loopback) Warning() string {
	return "the sandbox has no network beyond its own loopback interface"
}

// Attach is part of sandbox.Network. The namespace is a mount on the file
// returned: it lives on without any process in it.
func (l *Loopback) Attach(_ context.Context, id string) (nsPath string, err error) {
	path := filepath.Join(l.folder, id)
	if isNamespace(path) {
		return path, nil
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDONLY|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return "", fmt.Errorf("make namespace file: %w", err)
	}
	file.Close()
	if err := onOwnThread(func() error { return makeNamespace(path) }); err != nil {
		return "", errors.Join(err, os.Remove(path))
	}
	return path, nil
}

// Detach is part of sandbox.Network.
func (l *Loopback) Detach(_ context.Context, id string) error {
	path := filepath.Join(l.folder, id)
	for {
		err := unix.Unmount(path, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
		if errors.Is(err, unix.EINVAL) || errors.Is(err, fs.ErrNotExist) {
			break // no mount (left), or no file
		}
		if err != nil {
			return fmt.Errorf("unmount namespace: %w", err)
		}
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove namespace file: %w", err)
	}
	return nil
}

// makeNamespace moves the calling thread into a new namespace, mounts it on
// path and brings its loopback interface up.
func makeNamespace(path string) error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("make network namespace: %w", err)
	}
	if err := loopbackUp(); err != nil {
		return fmt.Errorf("bring loopback up: %w", err)
	}
	own := fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid())
	if err := unix.Mount(own, path, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount network namespace: %w", err)
	}
	return nil
}

func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, request); err != nil {
		return err
	}
	request.SetUint16(request.Uint16() | unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request)
}

// onOwnThread runs do on a thread that is thrown away afterwards, for it may
// leave the thread in another namespace.
func onOwnThread(do func() error) (err error) {
	var work sync.WaitGroup
	work.Go(func() {
		runtime.LockOSThread()
		if unix.Gettid() == os.Getpid() {
			// The first thread cannot be thrown away, and /proc/self is its
			// view. While we sit on it, do gets another one.
			defer runtime.UnlockOSThread()
			err = onOwnThread(do)
			return
		}
		err = do() // never unlocked: the thread ends with the goroutine
	})
	work.Wait()
	return err
}

// isNamespace says whether path is the mount of a namespace.
func isNamespace(path string) bool {
	var fs unix.Statfs_t
	return unix.Statfs(path, &fs) == nil && fs.Type == unix.NSFS_MAGIC
}
