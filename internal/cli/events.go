package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"paddock/client"
	"paddock/internal/plain"
)

func newEvents(a *app) *cobra.Command {
	var options client.EventsOptions
	var follow, replay bool
	cmd := &cobra.Command{
		Use:     "events SESSION",
		Aliases: []string{"logs"},
		GroupID: groupSessions,
		Short:   "Print a session's history, or follow it",
		Long: `Print a session's history: all of it, then end. With --follow: the recent
history, then what happens; with --follow --replay all of it first. A connection
that breaks is taken up again where it broke.`,
		Example: `  paddock events hello
  paddock events hello --follow
  paddock events hello --run run_01jdc8v6m3e5psh0wq0t7k0z1n -o json`,
		Args: exactly("SESSION"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("limit") && options.Before == "" {
				return usagef(cmd, "--limit is the length of a page of --before; for the newest events: paddock events %s | tail -n 20", args[0])
			}
			if replay && !follow {
				return usagef(cmd, "--replay goes with --follow; without it all of the history is printed anyway")
			}
			c, err := a.dial(cmd)
			if err != nil {
				return err
			}
			// A run's stream ends with the run, a page by itself.
			options.ReplayOnly = (!follow || replay) && options.Run == ""
			last, more, err := a.printEvents(cmd, c, args[0], options)
			if err != nil {
				return err
			}
			if more {
				a.note("There are older events: use --before with the first id above.")
			}
			if follow && replay && options.Run == "" {
				_, _, err = a.printEvents(cmd, c, args[0], client.EventsOptions{After: last, Raw: options.Raw})
			}
			return err
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&follow, "follow", "f", false, "go on with what happens")
	f.BoolVar(&replay, "replay", false, "with --follow: all of the history first")
	f.StringVar(&options.After, "after", "", "start after the event with this `id`")
	f.StringVar(&options.Before, "before", "", "one page that ends before the event with this `id`")
	f.IntVar(&options.Limit, "limit", 0, "events in such a page, at most 1000 (default 200)")
	f.StringVar(&options.Run, "run", "", "only events of this run; ends with it")
	f.BoolVar(&options.Raw, "raw", false, "with the agent's own frames (in JSON)")
	cmd.MarkFlagsMutuallyExclusive("before", "follow")
	cmd.MarkFlagsMutuallyExclusive("before", "after")
	cmd.MarkFlagsMutuallyExclusive("before", "run")
	return cmd
}

// printEvents prints a stream to its end and gives the id of its last event.
func (a *app) printEvents(cmd *cobra.Command, c *client.Client, ref string, options client.EventsOptions) (last string, more bool, err error) {
	stream, err := c.Events(cmd.Context(), ref, options)
	if err != nil {
		return options.After, false, err
	}
	defer stream.Close()
	for last = options.After; ; {
		e, err := stream.Next()
		if errors.Is(err, io.EOF) {
			return last, stream.HasMore(), nil
		}
		if err != nil {
			return last, false, err
		}
		last = e.EventID
		if err := a.printEvent(e); err != nil {
			return last, false, err
		}
	}
}

func (a *app) printEvent(e client.Event) error {
	if a.json() {
		return a.line(e)
	}
	line := fmt.Sprintf("%5d  %s  %-26s  %s", e.Seq, e.Timestamp.Local().Format("15:04:05"), e.Type, gist(e))
	_, err := fmt.Fprintln(plain.Writer(a.out), strings.TrimRight(line, " "))
	return err
}
