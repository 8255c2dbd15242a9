package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
)

// sayServe prints what a server would be told.
func sayServe(ctx context.Context, c ServeConfig) error {
	if filepath.Base(c.DataDir) == "stuck" {
		fmt.Fprintln(c.Out, "serving")
		<-ctx.Done()
		fmt.Fprintln(c.Out, "ending")
		select {} // never ends by itself
	}
	fmt.Fprintf(c.Out, "listen=%s data=%s templates=%s max=%d level=%s format=%s token=%s\n",
		c.Listen, c.DataDir, c.TemplateDir, c.MaxActiveSessions, c.LogLevel, c.LogFormat, c.Token)
	return nil
}

// sayDemo misses at its first step when told to keep the folder.
func sayDemo(_ context.Context, c DemoConfig) error {
	if c.Keep {
		return errors.New("a pause uses no CPU: it did")
	}
	fmt.Fprintln(c.Out, "everything held")
	return nil
}
