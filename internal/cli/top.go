package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"

	"paddock/client"
	"paddock/internal/cli/top"
	"paddock/internal/plain"
)

// topFlags say how `top` looks.
type topFlags struct {
	every   time.Duration
	order   string
	watch   bool
	noColor bool
}

func newTop(a *app) *cobra.Command {
	var f topFlags
	cmd := &cobra.Command{
		Use:     "top",
		GroupID: groupSessions,
		Short:   "Show what sessions use and are at, live",
		Long: `Show of each session its state, what its sandbox uses of the host's CPU, memory
and disk, and what its agent is at. CPU is in percent of one CPU; memory is what
the host cannot take back; disk is what was written in the sandbox.

On a terminal the table is live; keys choose its order, and q leaves. Elsewhere
it is printed once, after the second that it takes to see who uses the CPU; with
--watch it is printed again and again, as JSON one document a line. To look wakes
no session and keeps none awake.`,
		Example: `  paddock top
  paddock top --sort memory
  paddock top --watch --interval 5s -o json`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := oneOf(cmd, "--sort", f.order, top.Orders...); err != nil {
				return err
			}
			if f.every < 100*time.Millisecond {
				return usagef(cmd, "--interval is %s, at least 100ms is needed", f.every)
			}
			c, err := a.dial(cmd)
			if err != nil {
				return err
			}
			if a.output != jsonFormat && IsTerminal(a.in) && IsTerminal(a.out) && a.getenv("TERM") != "dumb" {
				return a.topScreen(cmd.Context(), c, f)
			}
			return a.topPrinted(cmd.Context(), c, f)
		},
	}
	cmd.Flags().DurationVar(&f.every, "interval", 2*time.Second, "`time` between two looks")
	cmd.Flags().StringVar(&f.order, "sort", "cpu", "order by `column`: "+strings.Join(top.Orders, ", "))
	cmd.Flags().BoolVarP(&f.watch, "watch", "w", false, "where there is no terminal: go on until interrupted")
	cmd.Flags().BoolVar(&f.noColor, "no-color", false, "without colours, as NO_COLOR has it")
	return cmd
}

// topRead reads a table; before is the one before it.
func (a *app) topRead(ctx context.Context, c *client.Client, before top.Table) (top.Table, error) {
	all, err := everyPage(func(token string) ([]client.SandboxStats, string, error) {
		page, err := c.SandboxStats(ctx, 200, token)
		return page.Sessions, page.NextPageToken, err
	})
	if err != nil {
		return top.Table{}, err
	}
	return top.NewTable(a.now().UTC(), all, before), nil
}

// topScreen is the live table. A hangup ends it in order, as SIGTERM does.
func (a *app) topScreen(ctx context.Context, c *client.Client, f topFlags) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP)
	defer stop()
	err := top.Run(ctx, top.Config{
		Read:    func(ctx context.Context, before top.Table) (top.Table, error) { return a.topRead(ctx, c, before) },
		Explain: func(err error) string { return plain.CleanLine(a.explain(err).text) },
		Every:   f.every, Order: f.order, In: a.in, Out: a.out, Env: os.Environ(), NoColor: f.noColor,
	})
	if ctx.Err() != nil || errors.Is(err, tea.ErrProgramKilled) || errors.Is(err, context.Canceled) {
		return errInterrupted
	}
	return err
}

// firstLook is the time between the two looks of which one table is made.
const firstLook = time.Second

// topPrinted prints the table once, or until it is interrupted.
func (a *app) topPrinted(ctx context.Context, c *client.Client, f topFlags) error {
	table, err := a.topRead(ctx, c, top.Table{})
	for wait := firstLook; err == nil; wait = f.every {
		select {
		case <-time.After(min(wait, max(f.every, firstLook))):
		case <-ctx.Done():
			return errInterrupted
		}
		if table, err = a.topRead(ctx, c, table); err != nil {
			break
		}
		table.Sort(f.order)
		if err := a.topTable(table, f.watch); err != nil || !f.watch {
			return err
		}
	}
	return err
}

// printedWidth is how wide a line is that no terminal cuts.
const printedWidth = 160

func (a *app) topTable(t top.Table, watch bool) error {
	if a.json() && watch {
		return a.line(t)
	}
	return a.result(t, func(w io.Writer) {
		for _, line := range t.Lines(printedWidth, 0) {
			fmt.Fprintln(w, line)
		}
		if watch {
			fmt.Fprintln(w)
		}
	})
}
