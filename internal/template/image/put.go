package image

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"paddock/internal/fault"
)

// put makes an entry of a folder, in the place of what was there; only folders
// stay what they are when a layer brings them again.
func (u *unpacker) put(h *tar.Header, content io.Reader, in *parent, base string) error {
	old, err := stat(in.File, base)
	if err != nil {
		return err
	}
	isFolder := old != nil && old.Mode&unix.S_IFMT == unix.S_IFDIR
	if h.Typeflag == tar.TypeLink {
		return u.link(h, in, base, old)
	}
	if old != nil && !(isFolder && h.Typeflag == tar.TypeDir) {
		if err := u.jail.remove(in.File, base); err != nil {
			return err
		}
		old = nil
	}
	dir := int(in.Fd())
	switch h.Typeflag {
	case tar.TypeDir:
		if old == nil {
			if err := unix.Mkdirat(dir, base, 0o700); err != nil {
				return err
			}
		}
		u.folders[path.Join(in.real, base)] = h.ModTime
		return u.finish(h, in.File, base)
	case tar.TypeReg, tar.TypeCont, tar.TypeGNUSparse:
		return u.file(h, content, in.File, base)
	case tar.TypeSymlink:
		if h.Linkname == "" || len(h.Linkname) > maxName {
			return refused(h.Name, "is a link to nothing")
		}
		if err := unix.Symlinkat(h.Linkname, dir, base); err != nil {
			return err
		}
		if err := u.own(h, in.File, base); err != nil {
			return err
		}
		return setTime(in.File, base, h.ModTime)
	case tar.TypeFifo:
		if err := unix.Mkfifoat(dir, base, 0o600); err != nil {
			return err
		}
		return u.finish(h, in.File, base)
	}
	return refused(h.Name, "is of a kind (%q) that no file is", h.Typeflag)
}

// link makes one more name of a file that is there already.
func (u *unpacker) link(h *tar.Header, in *parent, base string, old *unix.Stat_t) error {
	target, err := cleanName(h.Linkname)
	if err != nil {
		return err
	}
	none := func() error {
		return refused(h.Name, "is a hard link to %.300q, which is no file of the image", h.Linkname)
	}
	if target == "" {
		return none()
	}
	from, err := u.jail.open(dirOf(target), folderOnly)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return none()
	}
	if err != nil {
		return err
	}
	defer from.Close()
	s, err := stat(from, path.Base(target))
	switch {
	case err != nil:
		return err
	case s == nil || s.Mode&unix.S_IFMT == unix.S_IFDIR:
		return none()
	case old != nil && old.Ino == s.Ino && old.Dev == s.Dev:
		return nil // it is that file
	case old != nil:
		if err := u.jail.remove(in.File, base); err != nil {
			return err
		}
		// What was in the way may have been where the target is.
		if s, err := stat(from, path.Base(target)); err != nil || s == nil {
			return errors.Join(err, none())
		}
	}
	return unix.Linkat(int(from.Fd()), path.Base(target), int(in.Fd()), base, 0)
}

// file makes a regular file. What is zero in it takes no room on the disk.
func (u *unpacker) file(h *tar.Header, content io.Reader, dir *os.File, base string) error {
	if h.Size > u.limits.Bytes-u.bytes {
		return u.tooLarge()
	}
	fd, err := unix.Openat(int(dir.Fd()), base, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), base)
	defer f.Close()
	size, err := u.fill(f, content)
	if err != nil {
		return err
	}
	if err := f.Truncate(size); err != nil { // a hole at the end was only passed over
		return err
	}
	if err := u.own(h, dir, base); err != nil {
		return err
	}
	if err := unix.Fchmod(fd, mode(h)); err != nil { // after the owner, whose change takes setuid away
		return err
	}
	if err := u.attributes(h, f); err != nil {
		return err
	}
	return setTime(dir, base, h.ModTime)
}

func (u *unpacker) tooLarge() error {
	return fault.New(fault.BadRequest, "the image is larger than %d MiB unpacked, which is the limit", u.limits.Bytes>>20)
}

var zeroes [4096]byte

// fill copies content into a file.
func (u *unpacker) fill(f *os.File, content io.Reader) (size int64, err error) {
	for {
		if u.ctx.Err() != nil {
			return size, context.Cause(u.ctx)
		}
		n, err := io.ReadFull(content, u.buffer)
		if u.bytes += int64(n); u.bytes > u.limits.Bytes {
			return size, u.tooLarge()
		}
		for at := 0; at < n; {
			end := min(at+len(zeroes), n)
			if !bytes.Equal(u.buffer[at:end], zeroes[:end-at]) {
				for end < n && !bytes.Equal(u.buffer[end:min(end+len(zeroes), n)], zeroes[:min(len(zeroes), n-end)]) {
					end = min(end+len(zeroes), n)
				}
				if _, err := f.WriteAt(u.buffer[at:end], size+int64(at)); err != nil {
					return size, err
				}
			}
			at = end
		}
		size += int64(n)
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF) && n < len(u.buffer) && complete(content):
			return size, nil
		case err != nil:
			return size, damaged(err)
		}
		u.tell()
		if err := u.look(); err != nil {
			return size, err
		}
	}
}

// complete tells the end of an entry, which leaves a buffer half full, from that
// of a cut archive: the reader of a cut one says so again.
func complete(content io.Reader) bool {
	_, err := content.Read(make([]byte, 1))
	return errors.Is(err, io.EOF)
}

func mode(h *tar.Header) uint32 { return uint32(h.Mode) & 0o7777 }

// finish gives an entry its owner, mode and time; those of a folder's time come
// at the end.
func (u *unpacker) finish(h *tar.Header, dir *os.File, base string) error {
	if err := u.own(h, dir, base); err != nil {
		return err
	}
	if err := unix.Fchmodat(int(dir.Fd()), base, mode(h), 0); err != nil { // it is no link: we made it, or looked
		return err
	}
	return setTime(dir, base, h.ModTime)
}

// top takes over the mode of the root, into which everybody can look.
func (u *unpacker) top(h *tar.Header) error {
	in, err := u.jail.folder("")
	if err != nil {
		return err
	}
	if err := u.own(h, in.File, "."); err != nil {
		return err
	}
	return unix.Fchmodat(int(in.Fd()), ".", mode(h)&0o1777|0o555, 0)
}

func (u *unpacker) own(h *tar.Header, dir *os.File, base string) error {
	if !u.chown {
		return nil
	}
	return unix.Fchownat(int(dir.Fd()), base, h.Uid, h.Gid, unix.AT_SYMLINK_NOFOLLOW)
}

func setTime(dir *os.File, base string, at time.Time) error {
	if at.Before(time.Unix(0, 0)) {
		at = time.Unix(0, 0)
	}
	ts, err := unix.TimeToTimespec(at)
	if err != nil {
		return nil // of no time that there is
	}
	return unix.UtimesNanoAt(int(dir.Fd()), base, []unix.Timespec{ts, ts}, unix.AT_SYMLINK_NOFOLLOW)
}

// How extended attributes stand in a tar's headers, and the one beside user.*
// that has a meaning in a machine: capabilities of a program.
const (
	attributeRecord = "SCHILY.xattr."
	capability      = "security.capability"
	maxAttribute    = 64 << 10
)

// attributes gives a file its extended attributes. Those that mean something to the
// host only are left out.
func (u *unpacker) attributes(h *tar.Header, f *os.File) error {
	for _, record := range slices.Sorted(maps.Keys(h.PAXRecords)) {
		name, is := strings.CutPrefix(record, attributeRecord)
		if !is || name != capability && !strings.HasPrefix(name, "user.") {
			continue
		}
		value := h.PAXRecords[record]
		if len(value) > maxAttribute {
			return refused(h.Name, "has an attribute %.100q of %d bytes", name, len(value))
		}
		err := unix.Fsetxattr(int(f.Fd()), name, []byte(value), 0)
		switch {
		case errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.EPERM):
			u.lost[name]++ // said once, at the end
		case err != nil:
			return fmt.Errorf("set attribute %s: %w", name, err)
		}
	}
	return nil
}

// settle sets the times of folders, which filling them has changed.
func (u *unpacker) settle() {
	for name, at := range u.folders {
		dir, err := u.jail.open(dirOf(name), folderOnly)
		if err != nil {
			continue // removed by a later layer
		}
		if s, err := stat(dir, path.Base(name)); err == nil && s != nil && s.Mode&unix.S_IFMT == unix.S_IFDIR {
			_ = setTime(dir, path.Base(name), at) // a wrong time is no reason to have no image
		}
		dir.Close()
	}
}
