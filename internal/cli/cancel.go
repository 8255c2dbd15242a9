package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"paddock/client"
)

func newCancel(a *app) *cobra.Command {
	cmd := cancelCommand(a, between(1, 2))
	cmd.Use, cmd.GroupID = "cancel SESSION [RUN]", groupRuns
	cmd.Aliases = []string{"stop"}
	cmd.Example = "  paddock cancel hello"
	return cmd
}

func newRunCancel(a *app) *cobra.Command {
	cmd := cancelCommand(a, exactly("SESSION", "RUN"))
	cmd.Use = "cancel SESSION RUN"
	cmd.Example = "  paddock run cancel hello run_01jdc8v6m3e5psh0wq0t7k0z1n"
	return cmd
}

func cancelCommand(a *app, args cobra.PositionalArgs) *cobra.Command {
	var noWait bool
	cmd := &cobra.Command{
		Short: "End the active run, or a queued one; the session stays ready",
		Args:  args,
		RunE: func(cmd *cobra.Command, args []string) error {
			run := ""
			if len(args) == 2 {
				run = args[1]
			}
			c, err := a.dial(cmd)
			if err != nil {
				return err
			}
			met, err := c.Cancel(cmd.Context(), args[0], run)
			if err != nil {
				return err
			}
			if !noWait && met.Outcome == "acked" && met.RunID != "" {
				if err := a.awaitEnd(cmd.Context(), c, met); err != nil {
					return err
				}
			}
			return a.cancelled(args[0], met, noWait)
		},
	}
	cmd.Flags().BoolVar(&noWait, "no-wait", false, "return as soon as the agent was told")
	return cmd
}

func (a *app) cancelled(session string, met client.CancelAnswer, noWait bool) error {
	switch met.Outcome {
	case "acked":
		return a.result(met, func(w io.Writer) {
			how := "has ended"
			if noWait {
				how = "is being ended"
			}
			fmt.Fprintf(w, "%s %s\n", first(met.RunID, "the run"), how)
		})
	case "no_turn":
		return exitWith(exitConflict, "%s works on nothing that could be cancelled", session)
	default:
		return exitWith(exitFailed, "the agent of %s cannot be interrupted", session)
	}
}

// awaitEnd waits for a run that was told to end; the server kills it when it
// does not.
func (a *app) awaitEnd(ctx context.Context, c *client.Client, met client.CancelAnswer) error {
	spin := a.spin("ending " + met.RunID)
	defer spin.stop()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		r, err := c.Run(ctx, met.SessionID, met.RunID)
		if err != nil || !r.EndedAt.IsZero() {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
