package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"paddock/client"
)

// states are the words of --status and what they are on the wire.
var states = []string{"provisioning", "ready", "paused", "updating", "destroying", "destroyed", "failed"}

// sessionsResult is the JSON form of `list`.
type sessionsResult struct {
	Sessions []client.Session `json:"sessions"`
}

func newList(a *app) *cobra.Command {
	var all bool
	var status, search string
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		GroupID: groupSessions,
		Short:   "List sessions, newest first",
		Example: `  paddock list
  paddock list --all
  paddock list --status paused -o json`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			options := client.ListOptions{Search: search}
			switch {
			case status != "" && !slices.Contains(states, status):
				return oneOf(cmd, "--status", status, states...)
			case status != "":
				options.Status = "SESSION_STATUS_" + strings.ToUpper(status)
			case all:
				options.Status = client.SessionAll
			}
			c, err := a.dial(cmd)
			if err != nil {
				return err
			}
			result := sessionsResult{Sessions: []client.Session{}}
			for {
				page, err := c.Sessions(cmd.Context(), options)
				if err != nil {
					return err
				}
				result.Sessions = append(result.Sessions, page.Sessions...)
				if options.PageToken = page.NextPageToken; options.PageToken == "" {
					break
				}
			}
			return a.result(result, func(w io.Writer) { a.sessionTable(w, result.Sessions) })
		},
	}
	cmd.Flags().BoolVarP(&all, "all", "a", false, "also failed and removed sessions")
	cmd.Flags().StringVar(&status, "status", "", "only those in this `state`: "+strings.Join(states, ", "))
	cmd.Flags().StringVar(&search, "search", "", "only those with this `text` in name or id")
	cmd.MarkFlagsMutuallyExclusive("all", "status")
	return cmd
}

func (a *app) sessionTable(w io.Writer, sessions []client.Session) {
	if len(sessions) == 0 {
		fmt.Fprintln(w, "There are no sessions. Start one: paddock create --name hello")
		return
	}
	rows := make([][]string, len(sessions))
	for i, s := range sessions {
		run := "-"
		if s.Run != nil {
			run = runWord(s.Run.State)
		}
		rows[i] = []string{s.Name, s.Adapter, stateWord(s), run, ago(a.now(), s.CreatedAt), s.SessionID}
	}
	table(w, []string{"NAME", "AGENT", "STATE", "RUN", "CREATED", "ID"}, rows)
}
