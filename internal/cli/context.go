package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"paddock/internal/clientcontext"
)

// target is the server to speak to, and where that was said.
type target struct {
	clientcontext.Context
	urlFrom, tokenFrom string // e.g. PADDOCK_URL, or a file
}

// target finds URL and token: flags first, then the environment, then what a
// server or login wrote on this machine. Each part is looked for on its own, so
// that --url alone keeps the token.
func (a *app) target() (target, error) {
	t := target{urlFrom: "--url", tokenFrom: "PADDOCK_TOKEN"}
	if t.URL = a.url; t.URL == "" {
		t.URL, t.urlFrom = a.getenv("PADDOCK_URL"), "PADDOCK_URL"
	}
	t.Token = a.getenv("PADDOCK_TOKEN")
	if a.tokenFile != "" {
		b, err := os.ReadFile(a.tokenFile)
		if err != nil {
			return t, fmt.Errorf("read token: %w", err)
		}
		t.Token, t.tokenFrom = strings.TrimSpace(string(b)), a.tokenFile
	}
	if t.URL != "" && t.Token != "" {
		return t, nil
	}
	found, from, err := a.stored()
	if errors.Is(err, fs.ErrPermission) {
		return t, fmt.Errorf("%w; be root or in group %s, or give a token to 'paddock login'", err, clientcontext.Group)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return t, exitWith(exitFailed, "there is no %s; the server that keeps it writes it at its start: "+
			"name another with --context or PADDOCK_CONTEXT, or set PADDOCK_URL and PADDOCK_TOKEN to do without it", from)
	}
	if err != nil {
		return t, fmt.Errorf("%w; set PADDOCK_URL and PADDOCK_TOKEN to do without it", err)
	}
	if t.URL == "" {
		t.URL, t.urlFrom = first(found.URL, clientcontext.DefaultURL), from
	}
	if t.Token == "" {
		t.Token, t.tokenFrom = found.Token, from
	}
	return t, nil
}

// stored gives the context that lies on this machine, and where.
func (a *app) stored() (clientcontext.Context, string, error) {
	if file := first(a.contextFile, a.getenv("PADDOCK_CONTEXT")); file != "" {
		c, err := clientcontext.Read(file)
		return c, file, err
	}
	return clientcontext.Here().Find()
}

// first gives the first text that is not empty.
func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}
