package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"paddock/client"
)

// answerResult is the JSON form of `approve`.
type answerResult struct {
	SessionID string `json:"session_id"`
	RunID     string `json:"run_id"`
	HITLID    string `json:"hitl_id"`
	Outcome   string `json:"outcome"`
}

func newApprove(a *app) *cobra.Command {
	var reject, later bool
	var reason string
	var answers []string
	cmd := &cobra.Command{
		Use:     "approve SESSION [APPROVAL]",
		GroupID: groupRuns,
		Short:   "Answer what the agent asks",
		Long: `Answer what the agent asks: yes, unless told otherwise. Without an id the one
request that waits is meant; when several do, they are listed.`,
		Example: `  paddock approve hello
  paddock approve hello --reject --reason "not on a Friday"
  paddock approve hello --answer blue`,
		Args: between(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.dial(cmd)
			if err != nil {
				return err
			}
			pending, err := c.Approvals(cmd.Context(), args[0], len(args) == 2)
			if err != nil {
				return err
			}
			one, err := a.choose(pending, args)
			if err != nil {
				return err
			}
			answer := client.AnswerRequest{Outcome: client.OutcomeApprove, Reason: reason}
			switch {
			case reject:
				answer.Outcome = client.OutcomeReject
			case later:
				answer.Outcome = client.OutcomeDefer
			case one.Details.Question != "" && len(answers) == 0:
				return usagef(cmd, "%s asks: %s\nGive --answer, or --reject", args[0], question(one.Details))
			}
			if len(answers) > 0 {
				if answer.Content, err = readForm(one.Details).content(answers); err != nil {
					return err
				}
			}
			if err := c.Answer(cmd.Context(), one.SessionID, one.RequestID, answer); err != nil {
				return err
			}
			return a.result(answerResult{one.SessionID, one.RunID, one.RequestID, answer.Outcome}, func(w io.Writer) {
				fmt.Fprintf(w, "%s: %s\n", answered(client.Payload{Outcome: answer.Outcome}), question(one.Details))
			})
		},
	}
	cmd.Flags().BoolVar(&reject, "reject", false, "say no; the agent is told and goes on")
	cmd.Flags().BoolVar(&later, "defer", false, "leave it for later; it can still be answered")
	cmd.Flags().StringVar(&reason, "reason", "", "`text` for the agent and the history")
	cmd.Flags().StringArrayVar(&answers, "answer", nil, "answer to a question: `VALUE`, or NAME=VALUE for each field of a form")
	cmd.MarkFlagsMutuallyExclusive("reject", "defer", "answer")
	return cmd
}

// choose finds the approval that is meant.
func (a *app) choose(list []client.Approval, args []string) (client.Approval, error) {
	if len(args) == 2 {
		for _, one := range list {
			if one.RequestID == args[1] {
				return one, nil
			}
		}
		return client.Approval{}, exitWith(exitNotFound, "%s never asked %s; 'paddock approve %s' answers what waits", args[0], args[1], args[0])
	}
	switch len(list) {
	case 1:
		return list[0], nil
	case 0:
		return client.Approval{}, exitWith(exitNotFound, "%s waits for no answer", args[0])
	}
	a.note("%d requests wait:", len(list))
	for _, one := range list {
		a.note("  %s  %s", one.RequestID, question(one.Details))
	}
	return client.Approval{}, exitWith(exitConflict, "say which one: paddock approve %s %s", args[0], list[0].RequestID)
}
