package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"paddock/client"
)

// launch is what `paddock launch` was told.
type launch struct {
	a           *app
	from        specFlags
	environment string // that a new session is made from; empty: from
	text        string // the first prompt; may be empty
	k           asker  // for a chat in lines

	noColor bool
}

func newLaunch(a *app) *cobra.Command {
	l := &launch{a: a}
	var prompt string
	cmd := &cobra.Command{
		Use:     "launch [SESSION [TEXT...]]",
		Aliases: []string{"up", "attach", "chat"},
		GroupID: groupSessions,
		Short:   "Talk with an agent: attach to a session, or start one",
		Long: `Talk with an agent: attach to a session, or start one from the flags of create.
TEXT, or --prompt, is the first thing said.

The session lives on when you leave; 'paddock launch SESSION' comes back to it.
Ctrl-C cancels what the agent works on, Ctrl-C again leaves. Enter sends, Alt-Enter
begins a new line; what is sent while the agent works waits for its turn. When the
agent asks for permission: y allows, s allows it for the rest of the session, too,
n refuses, d leaves it for later. Tab goes through what tools did; Enter unfolds it.
PgUp reads back.

Where input or output is no terminal, where TERM is dumb, and with --on-ask or
-o json, each line of standard input is a prompt and the agent's words go to
standard output, as with 'paddock prompt'; it ends with the input, or with the
first run that fails.`,
		Example: `  paddock launch --agent demo --name hello
  paddock launch hello
  paddock launch --environment review-bot --name monday
  paddock launch hello "what is in this folder?"
  printf 'read notes.txt\nrun ls\n' | paddock launch hello --on-ask approve`,
		Args: between(0, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if l.text = prompt; len(args) > 1 {
				if prompt != "" {
					return usagef(cmd, "the first prompt is given twice: as TEXT and with --prompt")
				}
				l.text = strings.Join(args[1:], " ")
			}
			if l.k.onAsk != "" {
				if err := oneOf(cmd, "--on-ask", l.k.onAsk, onAskApprove, onAskReject, onAskDefer); err != nil {
					return err
				}
			}
			return l.run(cmd, args)
		},
	}
	l.from.keys = true
	l.from.register(cmd)
	environmentFlag(cmd, &l.environment)
	f := cmd.Flags()
	f.StringVarP(&prompt, "prompt", "p", "", "the first thing said, a `text`")
	f.StringVar(&l.k.onAsk, "on-ask", "", "line by line, and what to do when the agent asks: approve, reject or defer")
	f.StringVar(&l.k.reason, "reason", "", "`text` that goes with the answers of --on-ask")
	f.BoolVar(&l.noColor, "no-color", false, "without colours, as NO_COLOR has it")
	dashHint(cmd, "quote the text, or put -- before it")
	return cmd
}

func (l *launch) run(cmd *cobra.Command, args []string) error {
	c, err := l.a.dial(cmd)
	if err != nil {
		return err
	}
	s, err := l.session(cmd, c, args)
	if err != nil {
		return err
	}
	if s, err = l.a.awaitUp(cmd, c, s); err != nil {
		return err
	}
	if err := talkable(s); err != nil {
		return err
	}
	if l.a.output == jsonFormat || !IsTerminal(l.a.in) || !IsTerminal(l.a.out) || l.a.getenv("TERM") == "dumb" || l.k.onAsk != "" {
		return l.lines(cmd, c, s)
	}
	return l.screen(cmd, c, s)
}

// session is the one that was named, or a new one.
func (l *launch) session(cmd *cobra.Command, c *client.Client, args []string) (client.Session, error) {
	if len(args) > 0 {
		for _, flag := range append([]string{"environment"}, ofSpec...) {
			if cmd.Flags().Changed(flag) {
				return client.Session{}, usagef(cmd, "--%s is for a new session, and %q names one; leave out one of them, or name the new one with --name", flag, args[0])
			}
		}
		s, err := c.Session(cmd.Context(), args[0])
		if client.IsCode(err, "not_found") {
			return s, exitWith(exitNotFound, "there is no session %s; 'paddock launch --name %s' starts one, 'paddock list' shows those there are", args[0], args[0])
		}
		return s, err
	}
	start, err := l.a.starter(cmd, &l.from, l.environment, client.CreateOptions{})
	if err != nil {
		return client.Session{}, err
	}
	s, err := start(c)
	if err != nil {
		return s, err
	}
	l.from.warn(l.a, s.Warnings)
	return s, nil
}

// talkable says why nothing can be said in a session, if so.
func talkable(s client.Session) error {
	switch {
	case s.Status == client.SessionDestroyed || s.Status == client.SessionDestroying || s.Status == client.SessionFailed:
		return exitWith(exitConflict, "%s takes no more input. %s\nIts history: paddock events %s", s.Name, situation(s), s.SessionID)
	case s.AgentKind == "AGENT_KIND_NONE":
		return exitWith(exitConflict, "%s has no agent to talk with; work in its machine with 'paddock exec %s -- COMMAND'", s.Name, s.Name)
	}
	return nil
}
