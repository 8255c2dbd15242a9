package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"paddock/client"
)

// removeResult is the JSON form of `remove`.
type removeResult struct {
	Sessions []stateResult `json:"sessions"`
}

func newRemove(a *app) *cobra.Command {
	var noWait bool
	cmd := &cobra.Command{
		Use:     "remove SESSION...",
		Aliases: []string{"rm", "destroy", "delete"},
		GroupID: groupSessions,
		Short:   "Remove sessions, whatever they do, and wait until nothing is left",
		Example: `  paddock remove hello
  paddock rm one two three --no-wait`,
		Args: atLeast(1),
		RunE: func(cmd *cobra.Command, refs []string) error {
			c, err := a.dial(cmd)
			if err != nil {
				return err
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
					fmt.Fprintf(w, "%s is %s\n", s.Session, s.State)
				}
			}))
		},
	}
	cmd.Flags().BoolVar(&noWait, "no-wait", false, "return as soon as the removal is accepted")
	return cmd
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
