package daemon

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"paddock/internal/clientcontext"
	"paddock/internal/engine"
)

// admit makes a token known with which this installation can be used: the one
// of the environment, or one of our own making, which is then written to where
// the command line looks. Ours is made once and kept.
func admit(ctx context.Context, e *engine.Engine, cfg Config, url string) error {
	if cfg.Token != "" {
		if err := e.EnsureToken(ctx, cfg.Token, "PADDOCK_TOKEN"); err != nil {
			return fmt.Errorf("admit the token of PADDOCK_TOKEN: %w", err)
		}
		return nil
	}
	own, err := clientcontext.Read(filepath.Join(cfg.DataDir, clientcontext.FileName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if own.Token == "" {
		own.Token = "pdk_" + rand.Text() + rand.Text() // 260 bits
	}
	own.URL = url
	if err := e.EnsureToken(ctx, own.Token, "first token"); err != nil {
		return fmt.Errorf("admit the first token: %w", err)
	}
	file, err := clientcontext.Here().Publish(cfg.DataDir, own)
	if err != nil {
		return err
	}
	if file != "" {
		sayf(cfg.Out, "To use it from this machine: export PADDOCK_CONTEXT=%s\n", file)
	}
	return nil
}

func sayf(out io.Writer, format string, args ...any) { fmt.Fprintf(out, format, args...) }
