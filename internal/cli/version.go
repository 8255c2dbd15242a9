package cli

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/spf13/cobra"
)

// versionResult is the JSON form of `version`.
type versionResult struct {
	Version  string         `json:"version"`
	Runtime  string         `json:"runtime,omitempty"` // of the embedded sandbox runtime
	Go       string         `json:"go"`
	Platform string         `json:"platform"`
	Server   *serverVersion `json:"server,omitempty"` // when one answers
}

type serverVersion struct {
	URL     string `json:"url"`
	Version string `json:"version"`
}

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		GroupID: groupServer,
		Short:   "Print the versions of this program and of the server",
		Example: "  paddock version -o json",
		Args:    exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := versionResult{a.hooks.Version, a.hooks.Runtime, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH, a.serverVersion(cmd)}
			return a.result(v, func(w io.Writer) {
				server := "none answers"
				if v.Server != nil {
					server = v.Server.Version + " at " + v.Server.URL
				}
				fmt.Fprintf(w, "paddock %s\n", v.Version)
				fields(w, [2]string{"runtime", v.Runtime}, [2]string{"go", v.Go}, [2]string{"platform", v.Platform}, [2]string{"server", server})
			})
		},
	}
}

// serverVersion asks the server, but not for long; nil when none answers.
func (a *app) serverVersion(cmd *cobra.Command) *serverVersion {
	c, err := a.dial(cmd)
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), 2*time.Second)
	defer cancel()
	health, err := c.Health(ctx)
	if err != nil {
		return nil
	}
	return &serverVersion{a.server.URL, health.Version}
}
