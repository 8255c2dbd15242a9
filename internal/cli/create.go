package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"paddock/client"
)

func newCreate(a *app) *cobra.Command {
	var from specFlags
	var options client.CreateOptions
	var noWait bool
	cmd := &cobra.Command{
		Use:     "create",
		Aliases: []string{"new", "launch", "up"},
		GroupID: groupSessions,
		Short:   "Start a session and wait until it is ready",
		Example: `  paddock create --name hello
  paddock create -f spec.yaml
  paddock create --agent custom --command my-agent --command --acp --env LANG=C.UTF-8
  paddock create --agent none --idle-timeout 1h -o json`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := from.read(cmd, a.in)
			if err != nil {
				return err
			}
			c, err := a.dial(cmd)
			if err != nil {
				return err
			}
			s, err := c.CreateSession(cmd.Context(), text, options)
			if err != nil {
				return err
			}
			for _, w := range s.Warnings {
				a.note("warning: %s", w)
			}
			if !noWait {
				warnings := s.Warnings
				if s, err = a.awaitUp(cmd, c, s); err != nil {
					return err
				}
				s.Warnings = warnings
			}
			return a.result(s, func(w io.Writer) {
				fmt.Fprintf(w, "%s  %s  %s\n", s.Name, s.SessionID, stateWord(s))
			})
		},
	}
	from.register(cmd)
	cmd.Flags().BoolVar(&options.ResumeOnTopoff, "resume-on-topoff", false, "resume by itself after a pause for zero balance")
	cmd.Flags().BoolVar(&noWait, "no-wait", false, "return at once; the session boots on")
	return cmd
}

// awaitUp waits while a session is being made. One that fails is an error.
func (a *app) awaitUp(cmd *cobra.Command, c *client.Client, s client.Session) (client.Session, error) {
	if s.Status != client.SessionProvisioning {
		return s, nil
	}
	spin := a.spin("booting " + s.Name)
	up, err := await(cmd.Context(), c, s.SessionID, func(s client.Session) bool { return s.Status != client.SessionProvisioning })
	spin.stop()
	if err == nil && up.Status != client.SessionReady && up.Status != client.SessionPaused {
		err = exitWith(exitFailed, "session %s is %s: %s\nIts history says more: paddock events %s", up.Name, stateWord(up),
			first(up.Message, "it was removed meanwhile"), up.Name)
	}
	return up, err
}
