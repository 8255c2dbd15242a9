package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"paddock/client"
)

func newCreate(a *app) *cobra.Command {
	from := specFlags{keys: true}
	var options client.CreateOptions
	var environment string
	var noWait bool
	cmd := &cobra.Command{
		Use:     "create",
		Aliases: []string{"new"},
		GroupID: groupSessions,
		Short:   "Start a session and wait until it is ready",
		Long: `Start a session and wait until it is ready. What it is comes from a spec in YAML
(-f) or from the flags, each of which is a key of a spec. All that is wrong with
a spec is said at once.

An agent is one that 'paddock agent list' knows, such as codex; or demo, none, or
custom: any program that speaks ACP. Installed agents are at /opt/paddock/agents
inside.

A secret is a variable of the session whose value is kept sealed and shown to
nobody, not in the history either. With --secret-host the sandbox does not have it: it
holds a placeholder, which is replaced in requests to that host as they leave.`,
		Example: `  paddock create --name hello
  paddock create -f spec.yaml
  paddock create --agent custom --command my-agent --command --acp --env LANG=C.UTF-8
  paddock create --secret GH_TOKEN --secret-host GH_TOKEN=api.github.com
  paddock create --agent none --idle-timeout 1h -o json
  paddock create --environment review-bot --name monday`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			start, err := a.starter(cmd, &from, environment, options)
			if err != nil {
				return err
			}
			c, err := a.dial(cmd)
			if err != nil {
				return err
			}
			s, err := start(c)
			if err != nil {
				return err
			}
			from.warn(a, s.Warnings)
			if !noWait {
				warnings := s.Warnings
				if s, err = a.awaitUp(cmd, c, s); err != nil {
					return err
				}
				s.Warnings = warnings
			}
			return a.result(s, func(w io.Writer) { a.sessionLine(w, s) })
		},
	}
	from.register(cmd)
	environmentFlag(cmd, &environment)
	cmd.Flags().BoolVar(&options.ResumeOnTopoff, "resume-on-topoff", false, "resume by itself after a pause for zero balance")
	cmd.Flags().BoolVar(&noWait, "no-wait", false, "return at once; the session boots on")
	cmd.Flags().Bool("wait", true, "wait until it is ready, which it does anyway")
	_ = cmd.Flags().MarkHidden("wait") // fails only for a flag that is not there
	cmd.MarkFlagsMutuallyExclusive("wait", "no-wait")
	return cmd
}

// environmentFlag has a command make sessions from environments, too; the flags of
// a spec are registered before.
func environmentFlag(cmd *cobra.Command, environment *string) {
	cmd.Flags().StringVar(environment, "environment", "", "make it from this stored `environment`, see 'paddock env'; goes with --name")
	for _, name := range ofSpec {
		if name != "name" {
			cmd.MarkFlagsMutuallyExclusive("environment", name)
		}
	}
}

// starter gives what starts a session: from an environment, or from the spec that
// the flags mean.
func (a *app) starter(cmd *cobra.Command, from *specFlags, environment string, options client.CreateOptions) (func(c *client.Client) (client.Session, error), error) {
	if environment != "" {
		if from.spec.Name == "" {
			return nil, usagef(cmd, "--environment needs --name, the name of the new session")
		}
		return func(c *client.Client) (client.Session, error) {
			return c.CreateSessionFrom(cmd.Context(), environment, from.spec.Name, options)
		}, nil
	}
	text, err := from.read(cmd, a)
	return func(c *client.Client) (client.Session, error) {
		text, err := from.sendImage(cmd, a, c, text)
		if err != nil {
			return client.Session{}, err
		}
		s, err := c.CreateSession(cmd.Context(), text, options)
		if err != nil {
			return s, from.blame(cmd, err)
		}
		return s, nil
	}, err
}

// sessionLine is a session in one line.
func (a *app) sessionLine(w io.Writer, s client.Session) {
	fmt.Fprintf(w, "%s  %s  %s\n", s.Name, s.SessionID, stateWord(s))
}

// awaitUp waits while a session is being made. One that fails is an error.
func (a *app) awaitUp(cmd *cobra.Command, c *client.Client, s client.Session) (client.Session, error) {
	if s.Status != client.SessionProvisioning {
		return s, nil
	}
	spin := a.spin("booting " + s.Name)
	up, err := await(cmd.Context(), c, s.SessionID, func(s client.Session) bool { return s.Status != client.SessionProvisioning })
	spin.stop()
	if cmd.Context().Err() != nil {
		a.note("%s boots on: 'paddock show %s' says how it is, 'paddock remove %s' removes it.", s.Name, s.Name, s.Name)
	}
	if err == nil && up.Status != client.SessionReady && up.Status != client.SessionPaused {
		err = exitWith(exitFailed, "session %s is %s: %s\nIts history says more: paddock events %s", up.Name, stateWord(up),
			first(up.Message, "it was removed meanwhile"), up.Name)
	}
	return up, err
}
