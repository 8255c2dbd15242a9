package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"paddock/client"
)

// runsResult is the JSON form of `run list`.
type runsResult struct {
	Runs []client.Run `json:"runs"`
}

func newRun(a *app) *cobra.Command {
	return group("run", groupRuns, "List, show, watch and cancel runs",
		newRunList(a), newRunShow(a), newRunWatch(a), newRunCancel(a))
}

func newRunList(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "list SESSION",
		Aliases: []string{"ls"},
		Short:   "List a session's runs, newest first",
		Example: "  paddock run list hello",
		Args:    exactly("SESSION"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.dial(cmd)
			if err != nil {
				return err
			}
			runs, err := everyPage(func(token string) ([]client.Run, string, error) {
				page, err := c.Runs(cmd.Context(), args[0], 0, token)
				return page.Runs, page.NextPageToken, err
			})
			if err != nil {
				return err
			}
			return a.result(runsResult{Runs: runs}, func(w io.Writer) { a.runTable(w, args[0], runs) })
		},
	}
}

func (a *app) runTable(w io.Writer, session string, runs []client.Run) {
	if len(runs) == 0 {
		fmt.Fprintf(w, "There are no runs. Start one: paddock prompt %s …\n", session)
		return
	}
	rows := make([][]string, len(runs))
	for i, r := range runs {
		rows[i] = []string{r.RunID, runWord(r.State), first(lasted(a.now(), r), "-"), ago(a.now(), r.CreatedAt), oneLine(r.Text, 40)}
	}
	table(w, []string{"ID", "STATE", "TOOK", "CREATED", "INPUT"}, rows)
}

func newRunShow(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "show SESSION RUN",
		Aliases: []string{"get"},
		Short:   "Show a run",
		Example: "  paddock run show hello run_01jdc8v6m3e5psh0wq0t7k0z1n",
		Args:    exactly("SESSION", "RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.dial(cmd)
			if err != nil {
				return err
			}
			r, err := c.Run(cmd.Context(), args[0], args[1])
			if err != nil {
				return err
			}
			return a.result(r, func(w io.Writer) { a.runPage(w, r) })
		},
	}
}

func (a *app) runPage(w io.Writer, r client.Run) {
	failure := ""
	if r.Failure != nil {
		failure = r.Failure.Name + ": " + r.Failure.Message
	}
	fields(w,
		[2]string{"id", r.RunID}, [2]string{"session", r.SessionID}, [2]string{"input", oneLine(r.Text, 200)},
		[2]string{"state", runWord(r.State)}, [2]string{"failure", failure}, [2]string{"stopped", r.StopReason},
		[2]string{"created", ago(a.now(), r.CreatedAt)}, [2]string{"took", lasted(a.now(), r)}, [2]string{"tokens", tokens(r.TotalTokensIn, r.TotalTokensOut)}, [2]string{"cost", dollars(r.CumulativeCostMicros)})
}

// tokens says how many tokens models read and wrote; "" for none.
func tokens(in, out int64) string {
	if in+out == 0 {
		return ""
	}
	return strconv.FormatInt(in, 10) + " in, " + strconv.FormatInt(out, 10) + " out"
}

// dollars is an amount of millionths of a US dollar; "" for none.
func dollars(micros int64) string {
	if micros == 0 {
		return ""
	}
	text := fmt.Sprintf("$%d.%06d", micros/1e6, micros%1e6)
	cents := len(text) - len("0000")
	return text[:cents] + strings.TrimRight(text[cents:], "0")
}

func newRunWatch(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "watch SESSION [RUN]",
		Short: "Print a run from its beginning and follow it to its end",
		Long: `Print a run from its beginning and follow it to its end: the active run, or the
newest when none is active. It exits like prompt.`,
		Example: "  paddock run watch hello",
		Args:    between(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.dial(cmd)
			if err != nil {
				return err
			}
			run := ""
			if len(args) == 2 {
				run = args[1]
			} else if run, err = currentRun(cmd, c, args[0]); err != nil {
				return err
			}
			stream, err := c.Events(cmd.Context(), args[0], client.EventsOptions{Run: run})
			if err != nil {
				return err
			}
			defer stream.Close()
			return a.newTurn(args[0], run).follow(cmd.Context(), stream, nil)
		},
	}
}

// currentRun is the active run, else the newest.
func currentRun(cmd *cobra.Command, c *client.Client, ref string) (string, error) {
	s, err := c.Session(cmd.Context(), ref)
	if err != nil {
		return "", err
	}
	if s.Run != nil {
		return s.Run.RunID, nil
	}
	page, err := c.Runs(cmd.Context(), s.SessionID, 1, "")
	if err != nil {
		return "", err
	}
	if len(page.Runs) == 0 {
		return "", exitWith(exitNotFound, "%s has no run yet; start one with 'paddock prompt %s …'", ref, ref)
	}
	return page.Runs[0].RunID, nil
}
