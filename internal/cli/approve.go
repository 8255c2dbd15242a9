package cli

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"paddock/client"
)

// answerResult is the JSON form of an answer that was given.
type answerResult struct {
	SessionID string `json:"session_id"`
	RunID     string `json:"run_id"`
	HITLID    string `json:"hitl_id"`
	Outcome   string `json:"outcome"`
}

// reply is what a command answers an approval with.
type reply struct {
	outcome    string
	reason     string
	answers    []string
	input      string
	forSession bool
}

func newApprove(a *app) *cobra.Command {
	var reject, later bool
	k := reply{outcome: client.OutcomeApprove}
	cmd := &cobra.Command{
		Use:     "approve SESSION [APPROVAL]",
		GroupID: groupRuns,
		Short:   "Answer what the agent asks",
		Long: `Answer what the agent asks: yes, unless told otherwise. Without an id the one
request that waits is meant; when several do, they are listed.`,
		Example: `  paddock approve hello
  paddock approve hello --reject --reason "not on a Friday"
  paddock approve hello --for-session
  paddock approve hello --answer blue`,
		Args: between(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case reject:
				k.outcome = client.OutcomeReject
			case later:
				k.outcome = client.OutcomeDefer
			}
			return a.reply(cmd, args, k)
		},
	}
	cmd.Flags().BoolVar(&reject, "reject", false, "say no; the agent is told and goes on")
	cmd.Flags().BoolVar(&later, "defer", false, "leave it for later; it can still be answered")
	k.reasonFlag(cmd)
	k.approveFlags(cmd)
	for _, yes := range []string{"answer", "input", "for-session"} {
		cmd.MarkFlagsMutuallyExclusive("reject", "defer", yes)
	}
	return cmd
}

func (k *reply) reasonFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&k.reason, "reason", "", "`text` for the agent and the history")
}

// approveFlags are those of a yes.
func (k *reply) approveFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVar(&k.answers, "answer", nil, "answer to a question: `VALUE`, or NAME=VALUE for each field of a form")
	f.StringVar(&k.input, "input", "", "give the tool this input instead, as `JSON`; where the agent takes it")
	f.BoolVar(&k.forSession, "for-session", false, "approve exactly the same for the rest of the session, too")
	cmd.MarkFlagsMutuallyExclusive("input", "for-session")
}

// reply answers one approval.
func (a *app) reply(cmd *cobra.Command, args []string, k reply) error {
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
	answer, err := k.to(cmd, args[0], one)
	if err != nil {
		return err
	}
	if err := c.Answer(cmd.Context(), one.SessionID, one.RequestID, answer); err != nil {
		return err
	}
	return a.result(answerResult{one.SessionID, one.RunID, one.RequestID, answer.Outcome}, func(w io.Writer) {
		if !waits(one) { // the same answer again changes nothing
			fmt.Fprintf(w, "It was answered already, and that stands: %s: %s\n",
				answered(client.Payload{Outcome: answer.Outcome, Actor: one.Actor, Reason: one.Reason}), question(one.Details))
			return
		}
		fmt.Fprintf(w, "%s: %s\n", answered(client.Payload{Outcome: answer.Outcome}), question(one.Details))
		if k.forSession {
			fmt.Fprintf(w, "It holds for the rest of the session; 'paddock grant list %s' shows it.\n", args[0])
		}
	})
}

// to makes the answer to one approval.
func (k reply) to(cmd *cobra.Command, session string, one client.Approval) (answer client.AnswerRequest, err error) {
	answer = client.AnswerRequest{Outcome: k.outcome, Reason: k.reason, ForSession: k.forSession}
	if k.outcome == client.OutcomeApprove && one.Details.Question != "" && len(k.answers) == 0 {
		return answer, usagef(cmd, "%s asks: %s\nGive --answer, or reject it", session, question(one.Details))
	}
	if k.input != "" {
		if answer.Input = json.RawMessage(k.input); !json.Valid(answer.Input) {
			return answer, usagef(cmd, "--input is not JSON; give the tool's whole input, such as %s", first(string(one.Details.Input), `{"command":"ls"}`))
		}
	}
	if len(k.answers) > 0 {
		answer.Content, err = readForm(one.Details).content(k.answers)
	}
	return answer, err
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
