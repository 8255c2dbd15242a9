package image

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"paddock/internal/fault"
)

// Limits bound what an image may become.
type Limits struct {
	Bytes   int64 // of all files, holes included
	Entries int64 // files, folders and links
}

const (
	maxName  = 4095 // bytes, as Linux has it
	maxDepth = 512  // folders within folders
	maxLabel = 255  // bytes of one element of a name
)

// What layers say by names of their own: that an entry of the layers below is
// not there, and that a folder has nothing of them.
const (
	whiteout       = ".wh."
	whiteoutSystem = ".wh..wh."
	opaque         = ".wh..wh..opq"
)

// unpacker puts layers, one after the other, into a folder.
type unpacker struct {
	ctx    context.Context
	jail   *jail
	limits Limits
	chown  bool // whether owners can be set, which only root can

	bytes, entries int64
	folders        map[string]time.Time // their times, to be set at the end
	touched        map[string]bool      // what the layer under way has made, and the folders above
	buffer         []byte
	progress       func(string)
	told           time.Time
	looked         time.Time
	room           func() error
	label          string // of the layer, for progress
	lost           map[string]int
	devices        int    // below /dev, which are left out
	device         string // the first of them
}

// refused says which entry is why an image cannot be used.
func refused(name, format string, args ...any) error {
	return fault.New(fault.BadRequest, "the image has an entry %.300q that %s", name, fmt.Sprintf(format, args...))
}

// layer unpacks one layer.
func (u *unpacker) layer(content io.Reader) error {
	u.touched = map[string]bool{}
	archive := tar.NewReader(content)
	for {
		if err := u.ctx.Err(); err != nil {
			return context.Cause(u.ctx)
		}
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return damaged(err)
		}
		if u.entries++; u.entries > u.limits.Entries {
			return fault.New(fault.BadRequest, "the image has more than %d entries, which is the limit", u.limits.Entries)
		}
		u.tell()
		if err := u.look(); err != nil {
			return err
		}
		if err := u.entry(header, archive); err != nil {
			var f *fault.Error
			if errors.As(err, &f) || u.ctx.Err() != nil {
				return err
			}
			if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
				return fault.Wrap(err, fault.NoSpace, "the disk is full: there is no room to unpack the image")
			}
			return fault.Wrap(err, fault.BadRequest, "the image's entry %.300q cannot be unpacked: %v", header.Name, err)
		}
	}
}

// damaged is what content is that is no archive after all; what a reader below
// has said stands.
func damaged(err error) error {
	var f *fault.Error
	if errors.As(err, &f) {
		return err
	}
	return fault.Wrap(err, fault.BadRequest, "the image is damaged: a layer is no whole tar archive (%v)", err)
}

// tell says how far it is, about once a second.
func (u *unpacker) tell() {
	if now := time.Now(); now.Sub(u.told) >= time.Second {
		u.told = now
		u.progress(fmt.Sprintf("unpacking %s: %d entries, %d MiB so far", u.label, u.entries, u.bytes>>20))
	}
}

// lookAgain is how often the disk is looked at.
const lookAgain = 100 * time.Millisecond

// look says whether there is room to go on.
func (u *unpacker) look() error {
	now := time.Now()
	if now.Sub(u.looked) < lookAgain {
		return nil
	}
	u.looked = now
	return u.room()
}

// entry puts one entry of a layer into its place.
func (u *unpacker) entry(h *tar.Header, content io.Reader) error {
	switch h.Typeflag {
	case tar.TypeXGlobalHeader:
		return nil
	}
	name, err := cleanName(h.Name)
	if err != nil {
		return err
	}
	if h.Uid < 0 || h.Gid < 0 {
		return refused(h.Name, "belongs to nobody: its owner is %d:%d", h.Uid, h.Gid)
	}
	if name == "" {
		if h.Typeflag != tar.TypeDir {
			return refused(h.Name, "takes the place of / and is no folder")
		}
		return u.top(h)
	}
	base := path.Base(name)
	if strings.HasPrefix(base, whiteout) {
		return u.white(h.Name, dirOf(name), base)
	}
	in, err := u.jail.folder(dirOf(name))
	if err != nil {
		return err
	}
	if h.Typeflag == tar.TypeChar || h.Typeflag == tar.TypeBlock {
		if in.real == "dev" || strings.HasPrefix(in.real, "dev/") {
			u.devices++ // every machine has a /dev of its own
			if u.device == "" {
				u.device = path.Join(in.real, base)
			}
			return nil
		}
		return refused(h.Name, "is a device; a machine has only those of its own /dev")
	}
	if err := u.put(h, content, in, base); err != nil {
		return err
	}
	u.touch(path.Join(in.real, base))
	return nil
}

// cleanName gives an entry's name below the root, "" for the root itself.
func cleanName(name string) (string, error) {
	if len(name) > maxName {
		return "", refused(name, "has a name of %d bytes; Linux has at most %d", len(name), maxName)
	}
	var elements []string
	for element := range strings.SplitSeq(name, "/") {
		switch {
		case element == "" || element == ".":
		case element == "..":
			return "", refused(name, "has .. in its name")
		case strings.ContainsRune(element, 0):
			return "", refused(name, "has a NUL in its name")
		case len(element) > maxLabel:
			return "", refused(name, "has a name of more than %d bytes", maxLabel)
		default:
			elements = append(elements, element)
		}
	}
	if len(elements) > maxDepth {
		return "", refused(name, "is %d folders deep; the limit is %d", len(elements), maxDepth)
	}
	return strings.Join(elements, "/"), nil
}

// touch notes that the layer under way has made a name.
func (u *unpacker) touch(real string) {
	for real != "" && !u.touched[real] {
		u.touched[real] = true
		real = dirOf(real)
	}
}

// white does what a whiteout says: something of the layers below is not there.
func (u *unpacker) white(entry, dir, base string) error {
	if base != opaque && strings.HasPrefix(base, whiteoutSystem) {
		return nil // of the file system that the layer was made with
	}
	gone := strings.TrimPrefix(base, whiteout)
	if gone == "" || gone == "." || gone == ".." {
		return refused(entry, "is a whiteout of nothing")
	}
	at, err := u.jail.open(dir, folderOnly)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		return nil // what is not there need not be removed
	}
	if err != nil {
		return err
	}
	at.Close()
	in, err := u.jail.folder(dir)
	if err != nil {
		return err
	}
	if base == opaque {
		return u.clear(in.File, ".", in.real)
	}
	return u.fade(in.File, gone, path.Join(in.real, gone))
}

// clear removes all in a folder but what the layer under way has made.
func (u *unpacker) clear(dir *os.File, name, real string) error {
	return u.jail.each(dir, name, func(in *os.File, child string) error {
		return u.fade(in, child, path.Join(real, child))
	})
}

// fade removes one entry but what the layer under way has made of it.
func (u *unpacker) fade(dir *os.File, name, real string) error {
	if !u.touched[real] {
		return u.jail.remove(dir, name)
	}
	if s, err := stat(dir, name); err != nil || s == nil || s.Mode&unix.S_IFMT != unix.S_IFDIR {
		return err
	}
	return u.clear(dir, name, real)
}
