package gvisor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"paddock/internal/sandbox"
)

// Claim is part of sandbox.Machine.
func (m *machine) Claim(ctx context.Context, who sandbox.Identity, rules sandbox.Egress, secrets []sandbox.Brokered) error {
	release, err := m.driver.turns.take(ctx, m.handle.ID)
	if err == nil {
		defer release()
		err = m.claim(ctx, who, rules, secrets)
	}
	return wrap("claim sandbox "+m.handle.ID, err)
}

func (m *machine) claim(ctx context.Context, who sandbox.Identity, rules sandbox.Egress, secrets []sandbox.Brokered) error {
	if who.Session == "" || who.Hostname == "" {
		return errors.New("an identity has a session and a hostname")
	}
	if m.isClosed() || m.ended() {
		return sandbox.ErrGone
	}
	owner, err := m.folder.owner()
	switch {
	case err != nil:
		return err
	case owner == who.Session:
		return nil
	case owner != "":
		return fmt.Errorf("it belongs to session %s", owner)
	}
	if err := m.driver.options.Network.Govern(ctx, m.handle.ID, rules, secrets); err != nil {
		return fmt.Errorf("govern network: %w", err)
	}
	if err := m.folder.trust(secrets, m.driver.options.Network.Authority()); err != nil {
		return err
	}
	return m.folder.name(who)
}

func (f folder) session() string  { return filepath.Join(f.run(), "session-id") }
func (f folder) hostname() string { return filepath.Join(f.run(), "hostname") }

// owner gives the session the machine belongs to; "" while it is nobody's.
func (f folder) owner() (string, error) {
	text, err := os.ReadFile(f.session())
	if err != nil {
		return "", fmt.Errorf("read identity: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// name writes who the machine is. The session goes last: with it, the machine
// has an owner.
func (f folder) name(who sandbox.Identity) error {
	session := who.Session
	if session != "" {
		session += "\n"
	}
	for _, file := range []struct{ path, text string }{
		{f.hostname(), who.Hostname + "\n"},
		{f.session(), session},
	} {
		if err := writeIdentity(file.path, file.text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// writeIdentity replaces one file that the guest reads at /run/paddock.
func writeIdentity(path, text string, mode fs.FileMode) error {
	if err := replaceFile(path, []byte(text), mode); err != nil {
		return fmt.Errorf("write identity: %w", err)
	}
	return nil
}
