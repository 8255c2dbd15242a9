package template

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"paddock/internal/sandbox"
)

// The agent's user inside every machine.
const (
	agentName = "agent"
	agentID   = 1000
)

// place is a folder of the skeleton.
type place struct {
	path  string
	mode  os.FileMode
	owner int
}

// places are the folders that the template has of its own.
var places = []place{
	{"dev", 0o755, 0}, {"proc", 0o555, 0}, {"sys", 0o555, 0}, {"run", 0o755, 0}, {"run/lock", 0o777 | os.ModeSticky, 0},
	{"etc", 0o755, 0}, {"etc/profile.d", 0o755, 0}, {"etc/ssl", 0o755, 0}, {"etc/ssl/certs", 0o755, 0}, {"etc/ssl/private", 0o700, 0},
	{"var", 0o755, 0}, {"var/lib", 0o755, 0}, {"var/lib/dpkg", 0o755, 0}, {"var/log", 0o755, 0}, {"var/cache", 0o755, 0},
	{"var/spool", 0o755, 0}, {"var/mail", 0o755, 0}, {"var/local", 0o755, 0}, {"var/opt", 0o755, 0},
	{"var/tmp", 0o777 | os.ModeSticky, 0},
	// An empty /tmp would get a tmpfs mounted over it; this is a name that
	// many systems have there.
	{"tmp", 0o777 | os.ModeSticky, 0}, {"tmp/.X11-unix", 0o777 | os.ModeSticky, 0},
	{"root", 0o700, 0}, {"home", 0o755, 0}, {"home/" + agentName, 0o755, agentID}, {"workspace", 0o755, agentID},
	{"mnt", 0o755, 0}, {"media", 0o755, 0}, {"srv", 0o755, 0}, {"opt", 0o755, 0}, {"opt/paddock", 0o755, 0},
	{strings.TrimPrefix(sandbox.IdentityMount, "/"), 0o755, 0},
	{strings.TrimPrefix(sandbox.RuntimeMount, "/"), 0o755, 0},
	{strings.TrimPrefix(sandbox.AgentsMount, "/"), 0o755, 0},
}

// skeletonLinks are links of the skeleton.
var skeletonLinks = map[string]string{
	"var/run":  "/run",
	"var/lock": "/run/lock",
	"etc/mtab": "/proc/self/mounts",
	// One per machine, and another one after a restore elsewhere.
	"etc/machine-id": sandbox.IdentityMount + "/machine-id",
	"etc/hostname":   sandbox.IdentityMount + "/hostname",
}

// copies are files of the host's /etc that say nothing about this host: tables
// that programs look names up in.
var copies = []string{"os-release", "debian_version", "services", "protocols", "rpc", "ethertypes", "mime.types", "timezone", "localtime"}

// composed are the skeleton's files by path, with their content.
func (t *Templates) composed() map[string]string {
	users, groups := t.accounts()
	files := map[string]string{
		"etc/passwd":        users,
		"etc/group":         groups,
		"etc/shadow":        shadow(users),
		"etc/hosts":         "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n",
		"etc/resolv.conf":   "nameserver 10.0.2.2\n", // the gateway that every machine with a network has
		"etc/nsswitch.conf": "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nservices: files\nprotocols: files\nrpc: files\nethers: files\n",
		"etc/host.conf":     "multi on\n",
		"etc/shells":        "/bin/sh\n/bin/bash\n/usr/bin/sh\n/usr/bin/bash\n",
		"etc/ld.so.conf":    "/usr/local/lib\n",
		"etc/environment":   "PATH=\"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\"\n",
		"etc/profile":       profile,
		"etc/bash.bashrc":   "[ -z \"$PS1\" ] || PS1='\\u@\\h:\\w\\$ '\n",
	}
	for _, name := range copies {
		if text, err := os.ReadFile(filepath.Join(t.source, "etc", name)); err == nil {
			files["etc/"+name] = string(text)
		}
	}
	return files
}

const profile = `PATH="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
export PATH
for script in /etc/profile.d/*.sh; do
	[ -r "$script" ] && . "$script"
done
unset script
`

// skeleton makes what the farm has of its own.
func (t *Templates) skeleton(root string) error {
	for _, p := range places {
		path := filepath.Join(root, p.path)
		if err := os.MkdirAll(path, 0o755); err != nil {
			return err
		}
		if err := give(path, p.owner); err != nil {
			return err
		}
		if err := os.Chmod(path, p.mode); err != nil {
			return err
		}
	}
	for name, target := range skeletonLinks {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			return err
		}
	}
	for name, text := range t.composed() {
		path, mode := filepath.Join(root, name), os.FileMode(0o644)
		if name == "etc/shadow" {
			mode = 0o600
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			return err
		}
		if err := give(path, 0); err != nil {
			return err
		}
		if err := os.Chmod(path, mode); err != nil { // whatever our umask is
			return err
		}
	}
	return nil
}

func give(path string, owner int) error {
	if os.Geteuid() != 0 {
		return nil
	}
	return os.Lchown(path, owner, owner)
}

// accounts composes passwd and group: the host's system users, whom files
// belong to, without what is personal about them, and the agent.
func (t *Templates) accounts() (users, groups string) {
	const firstPerson = 1000
	isSystem := func(id string) bool {
		n, err := strconv.Atoi(id)
		return err == nil && n > 0 && (n < firstPerson || n == 65534)
	}
	users = "root:x:0:0:root:/root:/bin/bash\n"
	for _, f := range t.table("passwd", 7) {
		if isSystem(f[2]) && f[0] != agentName {
			users += fmt.Sprintf("%s:x:%s:%s::%s:/usr/sbin/nologin\n", f[0], f[2], f[3], f[5])
		}
	}
	users += fmt.Sprintf("%s:x:%d:%d::/home/%s:/bin/bash\n", agentName, agentID, agentID, agentName)
	groups = "root:x:0:\n"
	for _, f := range t.table("group", 4) {
		if isSystem(f[2]) && f[0] != agentName {
			groups += fmt.Sprintf("%s:x:%s:\n", f[0], f[2])
		}
	}
	groups += fmt.Sprintf("%s:x:%d:\n", agentName, agentID)
	return users, groups
}

// table reads a colon-separated file of the host's /etc; it may be absent.
func (t *Templates) table(name string, fields int) (rows [][]string) {
	file, err := os.Open(filepath.Join(t.source, "etc", name))
	if err != nil {
		return nil
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if row := strings.Split(lines.Text(), ":"); len(row) == fields {
			rows = append(rows, row)
		}
	}
	return rows
}

// shadow locks every user's password.
func shadow(users string) string {
	var b strings.Builder
	for line := range strings.Lines(users) {
		name, _, _ := strings.Cut(line, ":")
		b.WriteString(name + ":*:19000:0:99999:7:::\n")
	}
	return b.String()
}
