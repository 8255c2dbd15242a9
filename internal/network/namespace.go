package network

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// namespaces are the network namespaces of machines, each a mount on a file of
// the folder: it lives on without any process in it.
type namespaces struct{ folder string }

// openNamespaces keeps them in folder, which is made when absent (0700). Folder
// must be absolute.
func openNamespaces(folder string) (namespaces, error) {
	if !filepath.IsAbs(folder) {
		return namespaces{}, fmt.Errorf("folder %q is not absolute", folder)
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return namespaces{}, fmt.Errorf("make namespace folder: %w", err)
	}
	return namespaces{folder}, nil
}

func (n namespaces) path(id string) string { return filepath.Join(n.folder, id) }

// make makes the namespace of machine id, and calls furnish inside it. Again is
// no error: what is there is furnished once more.
func (n namespaces) make(id string, furnish func() error) (path string, err error) {
	path = n.path(id)
	if isNamespace(path) {
		return path, n.within(id, furnish)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDONLY|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return "", fmt.Errorf("make namespace file: %w", err)
	}
	file.Close()
	if err := onOwnThread(func() error { return makeNamespace(path, furnish) }); err != nil {
		return "", errors.Join(err, n.remove(id))
	}
	return path, nil
}

// within calls do inside the namespace of machine id, which there must be.
func (n namespaces) within(id string, do func() error) error {
	return onOwnThread(func() error {
		file, err := os.Open(n.path(id))
		if err != nil {
			return fmt.Errorf("open namespace: %w", err)
		}
		defer file.Close()
		if err := unix.Setns(int(file.Fd()), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("enter namespace: %w", err)
		}
		return do()
	})
}

// remove removes the namespace of machine id. It is idempotent.
func (n namespaces) remove(id string) error {
	path := n.path(id)
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
// path, brings its loopback interface up and furnishes it.
func makeNamespace(path string, furnish func() error) error {
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
	return furnish()
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
