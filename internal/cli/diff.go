package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"paddock/client"
	"paddock/internal/plain"
)

func newDiff(a *app) *cobra.Command {
	var stat, names bool
	cmd := &cobra.Command{
		Use:     "diff SESSION",
		GroupID: groupMachine,
		Short:   "Show what has changed in a session's repositories since they were cloned",
		Long: `Show what has changed in the repositories that a session was made with (repos of
its spec) since they were cloned: committed or not, and with new files that the
repository does not ignore. It works while the agent works; a paused session is
resumed first. Elsewhere than on a terminal the patch comes byte for byte, for
git apply.`,
		Example: `  paddock diff hello
  paddock diff hello --stat
  paddock diff hello | git apply`,
		Args: exactly("SESSION"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.dial(cmd)
			if err != nil {
				return err
			}
			d, err := c.Diff(cmd.Context(), args[0], a.json() || !stat && !names)
			if err != nil {
				return err
			}
			if a.json() {
				return a.result(d, nil)
			}
			if len(d.Repos) == 0 {
				a.note("%s was made without repos, so there is nothing to compare its workspace with.", args[0])
				return nil
			}
			return a.printDiff(args[0], d, stat, names)
		},
	}
	cmd.Flags().BoolVar(&stat, "stat", false, "only how many lines of which files")
	cmd.Flags().BoolVar(&names, "name-only", false, "only the names of the files")
	cmd.MarkFlagsMutuallyExclusive("stat", "name-only")
	return cmd
}

func (a *app) printDiff(session string, d client.SessionDiff, stat, names bool) error {
	failed, files := 0, 0
	var rows [][]string
	for _, r := range d.Repos {
		files += len(r.Files)
		if r.Problem != "" {
			failed++
			a.note("paddock: %s: %s", r.Path, r.Problem)
			continue
		}
		var err error
		switch {
		case names:
			err = a.result(nil, func(w io.Writer) {
				for _, f := range r.Files {
					fmt.Fprintln(w, plain.Line(r.Path+"/"+f.Path))
				}
			})
		case stat:
			rows = append(rows, statRows(r)...)
		default:
			if len(d.Repos) > 1 && len(r.Files) > 0 {
				fmt.Fprintf(plain.Writer(a.out), "# %s, from %s\n", plain.Line(r.Path), plain.Line(r.URL))
			}
			patch := client.PatchBytes(r)
			if IsTerminal(a.out) {
				patch = []byte(plain.Text(string(patch)))
			}
			_, err = a.out.Write(patch)
		}
		if err != nil {
			return err
		}
		if r.Truncated {
			a.note("paddock: there is more of %s than is shown; see it with paddock exec %s -w %s -- git diff", r.Path, session, r.Path)
		}
	}
	if len(rows) > 0 {
		table(plain.Writer(a.out), []string{"HOW", "LINES", "FILE"}, rows)
	}
	switch {
	case failed > 0:
		return exitWith(exitFailed, "%d of %d repositories could not be compared", failed, len(d.Repos))
	case files == 0:
		a.note("Nothing has changed in %s since it was cloned.", session)
	}
	return nil
}

// statRows has a line per file.
func statRows(r client.RepoDiff) (rows [][]string) {
	for _, f := range r.Files {
		name := r.Path + "/" + f.Path
		if f.From != "" {
			name += " (was " + f.From + ")"
		}
		lines := fmt.Sprintf("+%d -%d", f.Additions, f.Deletions)
		if f.Binary {
			lines = "binary"
		}
		rows = append(rows, []string{f.Status, lines, plain.Line(name)})
	}
	return rows
}
