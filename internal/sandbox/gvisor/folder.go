package gvisor

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"paddock/internal/sandbox"
)

const bundleFolder = "bundle"

// folder is the folder of one machine; see the package's doc for what is in it.
type folder string

func (f folder) handle() string  { return filepath.Join(string(f), "handle.json") }
func (f folder) bundle() string  { return filepath.Join(string(f), bundleFolder) }
func (f folder) runsc() string   { return filepath.Join(string(f), "runsc") }
func (f folder) upper() string   { return filepath.Join(string(f), "upper") }
func (f folder) run() string     { return filepath.Join(string(f), "run") }
func (f folder) control() string { return filepath.Join(string(f), "run", "control") }
func (f folder) secret() string  { return filepath.Join(f.control(), "secret") }
func (f folder) status() string  { return filepath.Join(string(f), "status") }
func (f folder) panics() string  { return filepath.Join(string(f), "panic.log") }

// make makes the folder; it is an error when it exists.
func (f folder) make() error {
	err := os.Mkdir(string(f), 0o700)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("sandbox %s was started before", filepath.Base(string(f)))
	}
	return wrap("make sandbox folder", err)
}

// fill puts the handle and the folders of the libraries into the folder.
func (f folder) fill(handle sandbox.Handle) error {
	doc, err := handle.Encode()
	if err != nil {
		return fmt.Errorf("encode handle: %w", err)
	}
	if err := replaceFile(f.handle(), doc, 0o600); err != nil {
		return fmt.Errorf("write handle: %w", err)
	}
	for _, sub := range []string{f.bundle(), f.runsc(), f.upper()} {
		if err := os.Mkdir(sub, 0o700); err != nil {
			return fmt.Errorf("make sandbox folder: %w", err)
		}
	}
	return nil
}

// identify writes what the guest reads at /run/paddock and returns the secret.
// The machine-id is fresh, so that no two machines share one.
func (f folder) identify(spec sandbox.Spec) (secret string, err error) {
	if err := os.Mkdir(f.run(), 0o755); err != nil {
		return "", fmt.Errorf("make identity folder: %w", err)
	}
	if err := os.Mkdir(f.control(), 0o700); err != nil {
		return "", fmt.Errorf("make control folder: %w", err)
	}
	if err := f.name(sandbox.Identity{Session: spec.Session, Hostname: spec.Hostname}); err != nil {
		return "", err
	}
	if err := writeIdentity(filepath.Join(f.run(), "machine-id"), randomHex(16)+"\n", 0o644); err != nil {
		return "", err
	}
	secret = randomHex(32)
	if err := writeIdentity(f.secret(), secret, 0o600); err != nil {
		return "", err
	}
	return secret, os.Chmod(f.run(), 0o755)
}

func (f folder) readSecret() (string, error) {
	text, err := os.ReadFile(f.secret())
	if err != nil {
		return "", fmt.Errorf("read secret: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// readHandle gives the handle that make wrote. A folder whose handle was never
// written, or not whole, still names its machine.
func (f folder) readHandle() (sandbox.Handle, error) {
	doc, err := os.ReadFile(f.handle())
	if err == nil {
		return sandbox.DecodeHandle(doc)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return sandbox.Handle{}, fmt.Errorf("read handle: %w", err)
	}
	return sandbox.Handle{Version: sandbox.HandleVersion, Driver: Name, ID: filepath.Base(string(f))}, nil
}

// replaceFile writes a file so that a reader, or a server started after this
// one was killed, finds the old or the new content and nothing between.
func replaceFile(path string, content []byte, mode fs.FileMode) error {
	temporary := path + ".new"
	if err := os.WriteFile(temporary, content, mode); err != nil {
		return err
	}
	if err := os.Chmod(temporary, mode); err != nil { // whatever the server's umask is
		return err
	}
	return os.Rename(temporary, path)
}

func randomHex(bytes int) string {
	raw := make([]byte, bytes)
	rand.Read(raw) // never fails, by its contract
	return hex.EncodeToString(raw)
}
