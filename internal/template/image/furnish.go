package image

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"paddock/internal/sandbox"
)

// The agent's user inside every machine.
const (
	agentName = "agent"
	agentID   = 1000
)

const sticky = 0o1777

// places are the folders that every machine has, whatever its image lacks. The
// mode of one that the image has stays, unless it must be another.
var places = []struct {
	path  string
	mode  uint32
	owner int
	force bool
}{
	{"dev", 0o755, 0, false}, {"proc", 0o555, 0, false}, {"sys", 0o555, 0, false}, {"run", 0o755, 0, false}, {"etc", 0o755, 0, false},
	{"var", 0o755, 0, false}, {"var/tmp", sticky, 0, true},
	// An empty /tmp would get a tmpfs mounted over it.
	{"tmp", sticky, 0, true}, {"tmp/.X11-unix", sticky, 0, true},
	{"root", 0o700, 0, false}, {"home", 0o755, 0, false}, {"home/" + agentName, 0o755, agentID, true}, {"workspace", 0o755, agentID, true},
	{"opt", 0o755, 0, false}, {"opt/paddock", 0o755, 0, true},
	{strings.TrimPrefix(sandbox.IdentityMount, "/"), 0o755, 0, true},
	{strings.TrimPrefix(sandbox.RuntimeMount, "/"), 0o755, 0, true},
	{strings.TrimPrefix(sandbox.AgentsMount, "/"), 0o755, 0, true},
}

// furnish adds to what an image has what every machine needs: folders to mount
// on, the agent's user, and the network's name server.
func (u *unpacker) furnish() error {
	for _, p := range places {
		if err := u.place(p.path, p.mode, p.owner, p.force); err != nil {
			return fmt.Errorf("folder /%s: %w", p.path, err)
		}
	}
	users, err := u.text("etc/passwd")
	if err != nil {
		return err
	}
	groups, err := u.text("etc/group")
	if err != nil {
		return err
	}
	shell := "/sbin/nologin"
	for _, one := range []string{"/bin/sh", "/bin/bash"} {
		if f, err := u.jail.open(one, unix.O_PATH); err == nil {
			f.Close()
			shell = one
		}
	}
	row := fmt.Sprintf("%s:x:%d:%d::/home/%s:%s", agentName, agentID, agentID, agentName, shell)
	for _, file := range []struct{ name, text string }{
		{"etc/passwd", account(users, "root:x:0:0:root:/root:"+shell, row)},
		{"etc/group", account(groups, "root:x:0:", fmt.Sprintf("%s:x:%d:", agentName, agentID))},
		{"etc/resolv.conf", "nameserver 10.0.2.2\n"}, // the gateway that every machine with a network has
		{"etc/hosts", "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n"},
	} {
		if err := u.write(file.name, file.text); err != nil {
			return fmt.Errorf("file /%s: %w", file.name, err)
		}
	}
	// One per machine, and another one after a restore elsewhere.
	for _, name := range []string{"machine-id", "hostname"} {
		in, err := u.jail.folder("etc")
		if err != nil {
			return err
		}
		if err := u.jail.remove(in.File, name); err != nil {
			return err
		}
		if err := unix.Symlinkat(sandbox.IdentityMount+"/"+name, int(in.Fd()), name); err != nil {
			return err
		}
	}
	return nil
}

// place makes a folder, where links of the image lead to; something else that is
// in its place gives way.
func (u *unpacker) place(name string, mode uint32, owner int, force bool) error {
	in, err := u.jail.folder(dirOf(name))
	if err != nil {
		return err
	}
	f, err := u.jail.open(name, folderOnly)
	made := err != nil
	if errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		if err = u.jail.remove(in.File, path.Base(name)); err != nil {
			return err
		}
		err = unix.ENOENT
	}
	if errors.Is(err, unix.ENOENT) {
		if _, err = u.jail.folder(name); err != nil {
			return err
		}
		f, err = u.jail.open(name, folderOnly)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if !made && !force {
		return nil
	}
	if u.chown {
		if err := unix.Fchownat(int(f.Fd()), ".", owner, owner, 0); err != nil {
			return err
		}
	}
	return unix.Fchmodat(int(f.Fd()), ".", mode, 0)
}

// text reads a small file of the image; an absent one is empty.
func (u *unpacker) text(name string) (string, error) {
	const most = 4 << 20
	f, err := u.jail.open(name, unix.O_RDONLY|unix.O_NONBLOCK)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(f, most))
	return string(text), err
}

// account puts the agent, and root if there is none, in front of a table of users
// or groups: who has the same number by another name is that user still.
func account(table, root, agent string) string {
	lines := strings.Split(strings.TrimRight(table, "\n"), "\n")
	lines = slices.DeleteFunc(lines, func(line string) bool { return line == "" || strings.HasPrefix(line, agentName+":") })
	at := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "root:") })
	if at < 0 {
		lines, at = slices.Insert(lines, 0, root), 0
	}
	return strings.Join(slices.Insert(lines, at+1, agent), "\n") + "\n"
}

// write puts a file of ours into the place of the image's.
func (u *unpacker) write(name, text string) error {
	in, err := u.jail.folder(dirOf(name))
	if err != nil {
		return err
	}
	base := path.Base(name)
	if err := u.jail.remove(in.File, base); err != nil {
		return err
	}
	fd, err := unix.Openat(int(in.Fd()), base, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), base)
	defer f.Close()
	if err := unix.Fchmod(fd, 0o644); err != nil { // whatever our umask is
		return err
	}
	_, err = f.WriteString(text)
	return err
}
