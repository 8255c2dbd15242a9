package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"paddock/client"
)

// approvalsResult is the JSON form of `approval list`.
type approvalsResult struct {
	Approvals []client.Approval `json:"approvals"`
}

func newApproval(a *app) *cobra.Command {
	return group("approval", groupRuns, "List and answer what agents ask, in all sessions",
		newApprovalList(a),
		newReply(a, "approve", client.OutcomeApprove, "Say yes", "  paddock approval approve hello --for-session"),
		newReply(a, "reject", client.OutcomeReject, "Say no; the agent is told and goes on", `  paddock approval reject hello --reason "not on a Friday"`),
		newReply(a, "defer", client.OutcomeDefer, "Leave it for later; it can still be answered", "  paddock approval defer hello"))
}

func newReply(a *app, word, outcome, short, example string) *cobra.Command {
	k := reply{outcome: outcome}
	cmd := &cobra.Command{
		Use: word + " SESSION [APPROVAL]", Short: short, Example: example, Args: between(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error { return a.reply(cmd, args, k) },
	}
	k.reasonFlag(cmd)
	if outcome == client.OutcomeApprove {
		k.approveFlags(cmd)
	}
	return cmd
}

func newApprovalList(a *app) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:     "list [SESSION]",
		Aliases: []string{"ls"},
		Short:   "List what waits for an answer, in all sessions, oldest first",
		Example: `  paddock approval list
  paddock approval list hello --all -o json`,
		Args: between(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.dial(cmd)
			if err != nil {
				return err
			}
			list, err := approvals(cmd, c, args, all)
			if err != nil {
				return err
			}
			return a.result(approvalsResult{list}, func(w io.Writer) { a.approvalTable(w, list) })
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "also what was answered or has expired")
	return cmd
}

// approvals gives those of one session, or of all.
func approvals(cmd *cobra.Command, c *client.Client, args []string, all bool) ([]client.Approval, error) {
	if len(args) == 1 {
		list, err := c.Approvals(cmd.Context(), args[0], all)
		for i := range list {
			list[i].SessionName = args[0]
		}
		return list, err
	}
	return everyPage(func(token string) ([]client.Approval, string, error) {
		page, err := c.TeamApprovals(cmd.Context(), all, 0, token)
		return page.Approvals, page.NextPageToken, err
	})
}

func (a *app) approvalTable(w io.Writer, list []client.Approval) {
	if len(list) == 0 {
		fmt.Fprintln(w, "Nobody waits for an answer.")
		return
	}
	rows := make([][]string, len(list))
	for i, one := range list {
		left := "-"
		if waits(one) && !one.Deadline.IsZero() {
			left = "in " + short(one.Deadline.Sub(a.now()))
		}
		rows[i] = []string{first(one.SessionName, one.SessionID), one.RequestID, one.State, ago(a.now(), one.RequestedAt), left, oneLine(question(one.Details), 60)}
	}
	table(w, []string{"SESSION", "ID", "STATE", "ASKED", "DEADLINE", "WHAT"}, rows)
}

// waits says whether an approval can still be answered.
func waits(one client.Approval) bool { return one.State == "pending" || one.State == "deferred" }

// short is a time that is left, as people say it.
func short(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	case d >= time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d >= time.Minute:
		return fmt.Sprintf("%dm", d/time.Minute)
	default:
		return fmt.Sprintf("%ds", max(0, d/time.Second))
	}
}
