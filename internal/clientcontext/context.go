package clientcontext

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// DefaultListen is where a server listens unless told otherwise.
const DefaultListen = "127.0.0.1:7723"

// DefaultURL is where the command line looks unless told otherwise.
const DefaultURL = "http://" + DefaultListen

// FileName is the name of the file that holds a context.
const FileName = "client.json"

// Context is what a client needs to speak to a server.
type Context struct {
	URL   string `json:"url"`   // scheme and host, e.g. http://127.0.0.1:7723
	Token string `json:"token"` // the bearer token's text; secret
}

// Read reads the context of one file. An absent file is fs.ErrNotExist.
func Read(path string) (Context, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return Context{}, fmt.Errorf("read client context: %w", err)
	}
	var c Context
	if err := json.Unmarshal(b, &c); err != nil {
		return Context{}, fmt.Errorf("read client context %s: %w", path, err)
	}
	return c, nil
}

// content is what a context's file holds.
type content struct {
	Context
	KeptBy string `json:"kept_by,omitempty"` // byServer, or empty: a person wrote it
}

// byServer marks the files that a server writes at each start.
const byServer = "server"

// KeptByServer says whether a server wrote a context's file and keeps it, so
// that nobody else may change it. An absent file is nobody's.
func KeptByServer(path string) (bool, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read client context: %w", err)
	}
	var c content
	// What cannot be read is no server's: login may replace it.
	return json.Unmarshal(b, &c) == nil && c.KeptBy == byServer, nil
}

// Write stores a context in one file, whole or not at all, readable by its
// owner only. Missing folders are made, closed to others.
func Write(path string, c Context) error { return write(path, content{Context: c}) }

func write(path string, c content) error {
	b, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return fmt.Errorf("encode client context: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("write client context: %w", err)
	}
	return replace(path, append(b, '\n'), 0o600, -1)
}

// Forget removes a context's file; again is no error.
func Forget(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget client context: %w", err)
	}
	return nil
}

// URLOf gives the URL under which this machine reaches a listener: the address
// itself, or loopback when it listens on every address.
func URLOf(addr net.Addr) string {
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return "http://" + addr.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// replace writes a file beside path and renames it over path. A gid of -1
// leaves the group alone.
func replace(path string, b []byte, mode os.FileMode, gid int) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = f.Write(b)
	if gid >= 0 {
		err = errors.Join(err, f.Chown(-1, gid))
	}
	err = errors.Join(err, f.Chmod(mode), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}

// readLine gives the first line of a file, trimmed; empty when it is absent.
func readLine(path string) (string, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	line, _, _ := strings.Cut(string(b), "\n")
	return strings.TrimSpace(line), err
}
