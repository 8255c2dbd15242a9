package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"paddock/internal/clientcontext"
)

// context finds URL and token: flags first, then the environment, then what a
// server wrote on this machine. Each part is looked for on its own, so that
// --url alone keeps the token.
func (a *app) context() (clientcontext.Context, error) {
	url, token := first(a.url, a.getenv("PADDOCK_URL")), a.getenv("PADDOCK_TOKEN")
	if a.tokenFile != "" {
		b, err := os.ReadFile(a.tokenFile)
		if err != nil {
			return clientcontext.Context{}, fmt.Errorf("read token: %w", err)
		}
		token = strings.TrimSpace(string(b))
	}
	if url != "" && token != "" {
		return clientcontext.Context{URL: url, Token: token}, nil
	}
	var found clientcontext.Context
	var err error
	if file := first(a.contextFile, a.getenv("PADDOCK_CONTEXT")); file != "" {
		found, err = clientcontext.Read(file)
	} else {
		found, err = clientcontext.Here().Find()
	}
	if errors.Is(err, fs.ErrPermission) {
		return clientcontext.Context{}, fmt.Errorf("%w; be root or in group %s, or set PADDOCK_URL and PADDOCK_TOKEN", err, clientcontext.Group)
	}
	if err != nil {
		return clientcontext.Context{}, fmt.Errorf("%w; set PADDOCK_URL and PADDOCK_TOKEN to do without it", err)
	}
	return clientcontext.Context{URL: first(url, found.URL, clientcontext.DefaultURL), Token: first(token, found.Token)}, nil
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
