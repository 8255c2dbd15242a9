package cli

import (
	"fmt"
	"io"
	"runtime"

	"github.com/spf13/cobra"
)

// versionResult is the JSON form of `version`.
type versionResult struct {
	Version  string `json:"version"`
	Runtime  string `json:"runtime,omitempty"` // of the embedded sandbox runtime
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		GroupID: groupServer,
		Short:   "Print the version of this program",
		Example: "  paddock version -o json",
		Args:    exactly(),
		RunE: func(*cobra.Command, []string) error {
			v := versionResult{a.hooks.Version, a.hooks.Runtime, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
			return a.result(v, func(w io.Writer) {
				fmt.Fprintf(w, "paddock %s\n", v.Version)
				fields(w, [2]string{"runtime", v.Runtime}, [2]string{"go", v.Go}, [2]string{"platform", v.Platform})
			})
		},
	}
}
