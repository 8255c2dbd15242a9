package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// stateResult is the JSON form of commands that move a session.
type stateResult struct {
	Session string `json:"session"` // as it was named
	State   string `json:"state"`   // paused, pausing, ready, destroying, destroyed
}

func newPause(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "pause SESSION",
		GroupID: groupSessions,
		Short:   "Freeze a session with its live processes",
		Long: `Freeze a session in place: processes, memory and files stay, no CPU is used.
While a run works, the pause is noted and happens when the run has ended.`,
		Example: "  paddock pause hello",
		Args:    exactly("SESSION"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.dial(cmd)
			if err != nil {
				return err
			}
			pending, err := c.Pause(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			r := stateResult{args[0], "paused"}
			if pending {
				r.State = "pausing"
			}
			return a.result(r, func(w io.Writer) {
				if pending {
					fmt.Fprintf(w, "%s will be paused when its run has ended; 'paddock resume %s' takes that back\n", args[0], args[0])
					return
				}
				fmt.Fprintf(w, "%s is paused\n", args[0])
			})
		},
	}
}

func newResume(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "resume SESSION",
		GroupID: groupSessions,
		Short:   "Let a paused session go on where it stopped",
		Example: "  paddock resume hello",
		Args:    exactly("SESSION"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.dial(cmd)
			if err != nil {
				return err
			}
			if err := c.Resume(cmd.Context(), args[0]); err != nil {
				return err
			}
			return a.result(stateResult{args[0], "ready"}, func(w io.Writer) { fmt.Fprintf(w, "%s goes on\n", args[0]) })
		},
	}
}
