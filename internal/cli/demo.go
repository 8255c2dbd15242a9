package cli

import (
	"github.com/spf13/cobra"

	"paddock/internal/clientcontext"
)

func newDemo(a *app) *cobra.Command {
	cfg := DemoConfig{}
	cmd := &cobra.Command{
		Use:     "demo",
		GroupID: groupServer,
		Short:   "See a session live, every step checked (needs root, under a minute)",
		Long: `Start a server of its own in a temporary folder on a free port and lead a session
through its life: two turns of the demo agent, a command in its machine, a
pause that uses no CPU, a server killed in mid-turn, removal that leaves
nothing. Each step is checked against what the host shows; the first miss ends
the demo with exit code 1. It cleans up in every case, when interrupted, too.`,
		Example: "  paddock demo",
		Args:    exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := needRoot(cmd, clientcontext.Here()); err != nil {
				return err
			}
			cfg.Out = a.out
			a.patience.Store(serverPatience)
			return a.hooks.Demo(cmd.Context(), cfg)
		},
	}
	cmd.Flags().BoolVar(&cfg.Keep, "keep", false, "keep the temporary folder (logs, database) for a look")
	return cmd
}
