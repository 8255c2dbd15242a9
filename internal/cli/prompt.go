package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"paddock/client"
)

// inputResult is the JSON form of `prompt --detach`.
type inputResult struct {
	SessionID string `json:"session_id"`
	RunID     string `json:"run_id"`
}

func newPrompt(a *app) *cobra.Command {
	var k asker
	var detach bool
	var file string
	cmd := &cobra.Command{
		Use:     "prompt SESSION TEXT...",
		Aliases: []string{"ask"},
		GroupID: groupRuns,
		Short:   "Say something to the agent and watch it work",
		Long: `Say something to the agent and watch it work. Its words go to standard output,
what it does to standard error. A paused session is resumed first; a session
that is still being made is waited for.

When the agent asks for permission, a person at the terminal is asked. Elsewhere
the command ends with exit code 4 and the run waits, unless --on-ask answers.

An interrupt (Ctrl-C) cancels the run and exits with 130; a second one leaves
at once. --detach starts a run that no interrupt of this command ends.`,
		Example: `  paddock prompt hello "what is in this folder?"
  paddock prompt hello --on-ask approve "run ls -la"
  paddock prompt hello --detach "slow 100"
  paddock prompt hello - < question.txt
  paddock prompt hello --file question.txt`,
		Args: func(cmd *cobra.Command, args []string) error {
			if file != "" {
				return exactly("SESSION")(cmd, args)
			}
			return atLeast(2)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if k.onAsk != "" {
				if err := oneOf(cmd, "--on-ask", k.onAsk, onAskApprove, onAskReject, onAskDefer); err != nil {
					return err
				}
			}
			text, err := a.promptText(cmd.Context(), args[1:], file)
			if err != nil {
				return err
			}
			if k.client, err = a.dial(cmd); err != nil {
				return err
			}
			s, err := k.client.Session(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if s, err = a.awaitUp(cmd, k.client, s); err != nil {
				return err
			}
			if detach {
				run, err := k.client.Input(cmd.Context(), s.SessionID, text)
				if err != nil {
					return err
				}
				return a.result(inputResult{s.SessionID, run}, func(w io.Writer) { fmt.Fprintln(w, run) })
			}
			return a.prompt(cmd, &k, s, text)
		},
	}
	cmd.Flags().StringVar(&k.onAsk, "on-ask", "", "what to do when the agent asks: approve, reject or defer")
	cmd.Flags().StringVar(&k.reason, "reason", "", "`text` that goes with the answers of --on-ask")
	cmd.Flags().BoolVarP(&detach, "detach", "d", false, "print the run's id and leave")
	cmd.Flags().StringVarP(&file, "file", "f", "", "read the text from this `file`, - for standard input")
	cmd.MarkFlagsMutuallyExclusive("detach", "on-ask")
	dashHint(cmd, "quote the text, or put -- before it")
	return cmd
}

// promptText is the text of the arguments, of a file, or of standard input for
// "-".
func (a *app) promptText(ctx context.Context, args []string, file string) (string, error) {
	switch {
	case file != "" && file != "-":
		b, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("read text: %w", err)
		}
		return string(b), nil
	case file == "" && (len(args) != 1 || args[0] != "-"):
		return strings.Join(args, " "), nil
	}
	b, err := a.input(ctx)
	if err != nil {
		return "", fmt.Errorf("read text from standard input: %w", err)
	}
	return string(b), nil
}

// prompt opens the stream before it sends, so that nothing is missed. The stream
// outlives an interrupt, to show how the run ends.
func (a *app) prompt(cmd *cobra.Command, k *asker, s client.Session, text string) error {
	life, leave := context.WithCancel(context.WithoutCancel(cmd.Context()))
	defer leave()
	stream, err := k.client.Events(life, s.SessionID, client.EventsOptions{})
	if err != nil {
		return err
	}
	defer stream.Close()
	run, err := k.client.Input(cmd.Context(), s.SessionID, text)
	if err != nil {
		return err
	}
	if s.Run != nil && !a.json() {
		a.note("%s waits behind %s (%s).", run, s.Run.RunID, runWord(s.Run.State))
	}
	k.t = a.newTurn(s.Name, run)
	done := k.t.cancelWith(cmd.Context(), life, leave, k.client, s.SessionID)
	err = k.t.follow(cmd.Context(), stream, k.answer)
	leave()
	done()
	return err
}

// dashHint adds a hint to complaints about flags of commands whose arguments
// may begin with a dash.
func dashHint(cmd *cobra.Command, hint string) {
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef(cmd, "%s (%s)", flagFault(cmd, err), hint)
	})
}
