package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// The groups of `paddock --help`, by level.
const (
	groupServer   = "server"
	groupSessions = "sessions"
	groupRuns     = "runs"
	groupMachine  = "machine"
)

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "paddock",
		Short: "Agent sessions in sandboxes",
		Long: `Paddock runs agents in sandboxes on this machine: sessions that can be watched,
paused with their live processes, resumed, and removed without a trace.

A session is named by its id or its name. The server is found by --url, else
PADDOCK_URL, else what 'paddock serve' wrote on this machine; likewise the token.`,
		Example: `  paddock serve &
  paddock create --name hello
  paddock prompt hello "run uname -a"
  paddock remove hello`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return noCommand(cmd, args[0])
			}
			return nil
		},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmd.ValidateFlagGroups(); err != nil {
				return wrongGroup(cmd, err)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetFlagErrorFunc(wrongFlag)

	a.output = textFormat
	f := root.PersistentFlags()
	f.StringVar(&a.url, "url", "", "`URL` of the server (PADDOCK_URL)")
	f.StringVar(&a.tokenFile, "token-file", "", "`file` that holds the token (PADDOCK_TOKEN is the token)")
	f.StringVar(&a.contextFile, "context", "", "`file` with URL and token of a server, e.g. DATA-DIR/client.json (PADDOCK_CONTEXT)")
	f.VarP(&a.output, "output", "o", "how to print results: text, wide or json")

	root.AddGroup(
		&cobra.Group{ID: groupServer, Title: "Server:"},
		&cobra.Group{ID: groupSessions, Title: "Sessions:"},
		&cobra.Group{ID: groupRuns, Title: "Runs:"},
		&cobra.Group{ID: groupMachine, Title: "Machine:"})
	root.AddCommand(
		newServe(a), newAgent(a), newDemo(a), newDoctor(a), newVersion(a), newLogin(a), newLogout(a), newExitCodes(), newMan(a, root),
		newCreate(a), newLaunch(a), newList(a), newShow(a), newPause(a), newResume(a), newRemove(a), newEvents(a), newTranscript(a),
		newWait(a), newTop(a), newEnv(a), newTemplate(a),
		newPrompt(a), newRun(a), newCancel(a), newApprove(a), newApproval(a), newGrant(a),
		newExec(a), newFiles(a), newDiff(a))
	helpCommand(root)
	completionCommand(root)
	a.complete(root)
	return root
}

func newExitCodes() *cobra.Command {
	return &cobra.Command{
		Use: "exit-codes", GroupID: groupServer, Short: "What the exit codes mean", Long: exitCodes, Example: "  paddock exit-codes",
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
}

// helpCommand adds cobra's command that shows a command's help, and lets it
// refuse what is none.
func helpCommand(root *cobra.Command) {
	root.SetHelpCommandGroupID(groupServer)
	root.InitDefaultHelpCmd()
	cmd, _, err := root.Find([]string{"help"})
	if err != nil {
		return
	}
	cmd.Use, cmd.Short, cmd.Long = "help [COMMAND...]", "Show the help of a command", ""
	cmd.Example = "  paddock help run watch"
	cmd.Run = nil
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		found, rest, err := root.Find(args)
		if err != nil || len(rest) > 0 {
			return noCommand(found, first(append(rest, args...)...))
		}
		found.InitDefaultHelpFlag()
		return found.Help()
	}
}

// group makes a command that only holds others; its examples are theirs.
func group(use, groupID, short string, commands ...*cobra.Command) *cobra.Command {
	var examples []string
	for _, c := range commands {
		examples = append(examples, c.Example)
	}
	cmd := &cobra.Command{
		Use: use, GroupID: groupID, Short: short, Example: strings.Join(examples, "\n"),
		RunE: onlyHolds,
	}
	cmd.AddCommand(commands...)
	return cmd
}

// onlyHolds runs a command that does nothing by itself: it shows its help, and
// refuses a word that names none of the commands below it.
func onlyHolds(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return noCommand(cmd, args[0])
	}
	return cmd.Help()
}
