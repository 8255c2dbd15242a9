package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"paddock/client"
)

// removeResult is the JSON form of `remove`.
type removeResult struct {
	Sessions []stateResult `json:"sessions"`
}

func newRemove(a *app) *cobra.Command {
	var noWait, all, yes bool
	cmd := &cobra.Command{
		Use:     "remove SESSION...",
		Aliases: []string{"rm", "destroy", "delete"},
		GroupID: groupSessions,
		Short:   "Remove sessions, whatever they do, and wait until nothing is left",
		Example: `  paddock remove hello
  paddock rm one two three --no-wait
  paddock remove --all -y`,
		Args: func(cmd *cobra.Command, refs []string) error {
			if all && len(refs) > 0 {
				return usagef(cmd, "give --all or names, not both")
			}
			if all {
				return nil
			}
			return atLeast(1)(cmd, refs)
		},
		RunE: func(cmd *cobra.Command, refs []string) error {
			c, err := a.dial(cmd)
			if err != nil {
				return err
			}
			called := map[string]string{} // names of sessions, by their ids
			if all {
				found, err := a.everything(cmd, c, yes)
				if err != nil || len(found) == 0 {
					return err
				}
				for _, s := range found {
					refs, called[s.SessionID] = append(refs, s.SessionID), s.Name
				}
			}
			var result removeResult
			var failed error
			for _, ref := range refs {
				state, err := a.remove(cmd, c, ref, noWait)
				if err != nil {
					if failed != nil {
						a.finish(failed) // said here; the last one is the command's
					}
					failed = err
					continue
				}
				result.Sessions = append(result.Sessions, stateResult{ref, state})
			}
			if len(result.Sessions) == 0 {
				return failed
			}
			return errors.Join(failed, a.result(result, func(w io.Writer) {
				for _, s := range result.Sessions {
					fmt.Fprintf(w, "%s is %s\n", first(called[s.Session], s.Session), s.State)
				}
			}))
		},
	}
	cmd.Flags().BoolVar(&noWait, "no-wait", false, "return as soon as the removal is accepted")
	cmd.Flags().BoolVar(&all, "all", false, "remove every session that is alive or has failed")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "with --all: do not ask")
	return cmd
}

// everything lists what --all means, once a person agrees.
func (a *app) everything(cmd *cobra.Command, c *client.Client, yes bool) ([]client.Session, error) {
	found, err := listFlags{status: []string{"provisioning", "ready", "paused", "updating", "failed"}}.find(cmd.Context(), c)
	if err != nil {
		return nil, err
	}
	switch {
	case len(found) == 0:
		return nil, a.result(removeResult{Sessions: []stateResult{}}, func(w io.Writer) { fmt.Fprintln(w, "There are no sessions.") })
	case yes:
		return found, nil
	case !IsTerminal(a.in) || !IsTerminal(a.err):
		return nil, usagef(cmd, "--all needs -y where nobody can be asked; it would remove %s", sessions(len(found)))
	}
	for _, s := range found {
		a.note("  %s  %s", s.Name, stateWord(s))
	}
	a.note("Remove %s with all files? Type yes:", sessions(len(found)))
	buf := make([]byte, 64)
	n, err := readSome(cmd.Context(), a.in.(*os.File), buf)
	if err != nil && err != io.EOF {
		return nil, err
	}
	if strings.TrimSpace(string(buf[:n])) != "yes" {
		return nil, exitWith(exitFailed, "nothing was removed")
	}
	return found, nil
}

func (a *app) remove(cmd *cobra.Command, c *client.Client, ref string, noWait bool) (state string, err error) {
	// The id is taken first: once removal is accepted, the name may belong to
	// somebody else.
	s, err := c.Session(cmd.Context(), ref)
	if err != nil {
		return "", err
	}
	if err := c.RemoveSession(cmd.Context(), s.SessionID); err != nil {
		return "", err
	}
	if noWait {
		return "destroying", nil
	}
	spin := a.spin("removing " + s.Name)
	defer spin.stop()
	_, err = await(cmd.Context(), c, s.SessionID, func(s client.Session) bool { return s.Status == client.SessionDestroyed })
	if client.IsCode(err, "not_found") {
		err = nil // nothing remembers it any more
	}
	return "destroyed", err
}

// sessions counts sessions in words.
func sessions(n int) string {
	if n == 1 {
		return "1 session"
	}
	return fmt.Sprintf("%d sessions", n)
}
