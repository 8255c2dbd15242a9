package clientcontext

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
)

// Group is the group that may read the machine's token, where it exists.
const Group = "paddock"

// Places says where contexts lie for one person on one machine.
type Places struct {
	System  string // folder of the machine's context, e.g. /etc/paddock
	Person  string // file of the person's context
	Root    bool   // the person is root: publishing goes to System
	DataDir string // where a server keeps its data unless told otherwise
}

// Here gives the places of whoever runs this process.
func Here() Places {
	p := Places{System: "/etc/paddock", Root: os.Geteuid() == 0, DataDir: "/var/lib/paddock"}
	if dir, err := os.UserConfigDir(); err == nil {
		p.Person = filepath.Join(dir, "paddock", FileName)
	}
	if !p.Root {
		p.DataDir = personalDataDir()
	}
	return p
}

// personalDataDir is $XDG_DATA_HOME/paddock, else ~/.local/share/paddock.
func personalDataDir() string {
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "paddock")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return filepath.Join(os.TempDir(), "paddock-"+strconv.Itoa(os.Getuid()))
	}
	return filepath.Join(home, ".local", "share", "paddock")
}

// Publish writes the context of the server that keeps its data in dataDir:
// always client.json there and, when that is the default folder, also the place
// where the command line looks by itself. It returns the file that a person has
// to name in PADDOCK_CONTEXT, or "" when nothing has to be named.
func (p Places) Publish(dataDir string, c Context) (name string, err error) {
	own := filepath.Join(dataDir, FileName)
	if err := write(own, content{c, byServer}); err != nil {
		return "", err
	}
	switch {
	case filepath.Clean(dataDir) != filepath.Clean(p.DataDir):
		return own, nil
	case p.Root:
		return "", p.writeSystem(c)
	default:
		return "", write(p.Person, content{c, byServer})
	}
}

func (p Places) writeSystem(c Context) error {
	if err := os.MkdirAll(p.System, 0o755); err != nil {
		return fmt.Errorf("write client context: %w", err)
	}
	mode, gid := os.FileMode(0o600), -1
	if g, err := user.LookupGroup(Group); err == nil {
		if n, err := strconv.Atoi(g.Gid); err == nil {
			mode, gid = 0o640, n
		}
	}
	return errors.Join(
		replace(filepath.Join(p.System, "token"), []byte(c.Token+"\n"), mode, gid),
		replace(filepath.Join(p.System, "url"), []byte(c.URL+"\n"), 0o644, -1))
}

// Find gives the context that lies where the command line looks by itself: the
// person's file, else the machine's, and which of them it is. When there is
// none the URL is DefaultURL, the token empty and the place "the default". A
// token that exists but may not be read is an error.
func (p Places) Find() (found Context, from string, err error) {
	if p.Person != "" {
		c, err := Read(p.Person)
		if !errors.Is(err, fs.ErrNotExist) {
			return c, p.Person, err
		}
	}
	from = p.System
	if found.URL, err = readLine(filepath.Join(p.System, "url")); err != nil {
		return Context{}, from, fmt.Errorf("read client context: %w", err)
	}
	if found.Token, err = readLine(filepath.Join(p.System, "token")); err != nil {
		return Context{}, from, fmt.Errorf("read client context: %w", err)
	}
	if found == (Context{}) {
		from = "the default"
	}
	if found.URL == "" {
		found.URL = DefaultURL
	}
	return found, from, nil
}
