package proc

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// untouched are mounted anew by nobody: what is in them is no file on disk, and
// programs need it.
var untouched = []string{"/dev", "/proc"}

// confine makes the mount namespace that this thread is alone in one where only
// the writable paths can be written to.
func confine(writable []string) error {
	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("keep mounts to ourselves: %w", err)
	}
	open := slices.Clone(untouched)
	slices.Sort(writable) // what is within another one comes after it
	for _, name := range writable {
		if within(name, open) {
			continue
		}
		if err := bindToSelf(name); err != nil {
			return err
		}
		open = append(open, name)
	}
	mounts, err := mountTable()
	if err != nil {
		return err
	}
	for _, m := range mounts {
		if m.flags&unix.MS_RDONLY != 0 || within(m.at, open) {
			continue
		}
		if err := unix.Mount("", m.at, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|m.flags, ""); err != nil {
			return fmt.Errorf("make %s read-only: %w", m.at, err)
		}
	}
	return confined(open)
}

// confined checks what the kernel made of it.
func confined(open []string) error {
	mounts, err := mountTable()
	if err != nil {
		return err
	}
	for _, m := range mounts {
		if m.flags&unix.MS_RDONLY == 0 && !within(m.at, open) {
			return fmt.Errorf("%s did not become read-only", m.at)
		}
	}
	return nil
}

// bindToSelf makes a mount of what the path names, with those below it.
func bindToSelf(name string) error {
	fd, err := pin(name)
	if err != nil {
		return fmt.Errorf("open writable folder: %w", err)
	}
	defer unix.Close(fd)
	self := "/proc/self/fd/" + strconv.Itoa(fd)
	if err := unix.Mount(self, self, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("keep %s writable: %w", name, err)
	}
	return nil
}

// within says whether a path is one of some others or below one.
func within(name string, others []string) bool {
	return slices.ContainsFunc(others, func(o string) bool { return name == o || strings.HasPrefix(name, o+"/") })
}

// mounted is one line of the table of mounts.
type mounted struct {
	at    string
	flags uintptr // MS_…
}

// mountFlags are the options of a mount that have to be said again when it is
// mounted anew.
var mountFlags = map[string]uintptr{
	"ro": unix.MS_RDONLY, "nosuid": unix.MS_NOSUID, "nodev": unix.MS_NODEV, "noexec": unix.MS_NOEXEC,
	"noatime": unix.MS_NOATIME, "nodiratime": unix.MS_NODIRATIME, "relatime": unix.MS_RELATIME,
}

// mountTable reads the mounts of this thread's namespace. Of those at the same
// place the last is the one that is seen.
func mountTable() ([]mounted, error) {
	text, err := os.ReadFile("/proc/thread-self/mountinfo")
	if errors.Is(err, os.ErrNotExist) { // a kernel without thread-self
		text, err = os.ReadFile("/proc/self/mountinfo")
	}
	if err != nil {
		return nil, fmt.Errorf("read mounts: %w", err)
	}
	return parseMounts(text)
}

func parseMounts(text []byte) (mounts []mounted, err error) {
	at := map[string]int{}
	for line := range bytes.Lines(text) {
		fields := strings.Fields(string(line))
		if len(fields) < 6 {
			return nil, fmt.Errorf("read mounts: %q is none", line)
		}
		m := mounted{at: path.Clean(unescape(fields[4]))}
		for option := range strings.SplitSeq(fields[5], ",") {
			m.flags |= mountFlags[option]
		}
		if i, again := at[m.at]; again {
			mounts[i] = m
			continue
		}
		at[m.at] = len(mounts)
		mounts = append(mounts, m)
	}
	return mounts, nil
}

// unescape reads the \ooo in which the table writes blanks and the like.
func unescape(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+3 < len(text) {
			if c, err := strconv.ParseUint(text[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(c))
				i += 3
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// become makes root of a cage its user, without any capability and for good. The
// calling goroutine is locked to its thread, which is the one that will execute
// the program.
func become(uid, gid uint32) error {
	if err := dropBoundingSet(0); err != nil {
		return err
	}
	if err := syscall.Setresgid(int(gid), int(gid), int(gid)); err != nil {
		return fmt.Errorf("become group %d: %w", gid, err)
	}
	if err := syscall.Setresuid(int(uid), int(uid), int(uid)); err != nil {
		return fmt.Errorf("become user %d: %w", uid, err)
	}
	sets, err := capabilities()
	if err != nil {
		return err
	}
	for _, s := range sets {
		if s.Effective|s.Permitted|s.Inheritable != 0 {
			return errors.New("capabilities were left")
		}
	}
	return nil
}
