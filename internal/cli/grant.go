package cli

import (
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"paddock/client"
)

// grantsResult is the JSON form of `grant list`.
type grantsResult struct {
	Grants []client.Grant `json:"grants"`
}

// revokeResult is the JSON form of `grant revoke`.
type revokeResult struct {
	GrantID string `json:"grant_id"`
	Already bool   `json:"already,omitempty"` // it had been revoked before
}

func newGrant(a *app) *cobra.Command {
	return group("grant", groupRuns, "List and revoke what was approved for the rest of a session",
		newGrantList(a), newGrantRevoke(a))
}

func newGrantList(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "list SESSION",
		Aliases: []string{"ls"},
		Short:   "List what was approved for the rest of a session",
		Example: "  paddock grant list hello",
		Args:    exactly("SESSION"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.dial(cmd)
			if err != nil {
				return err
			}
			list, err := c.Grants(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return a.result(grantsResult{list}, func(w io.Writer) { a.grantTable(w, args[0], list) })
		},
	}
}

func (a *app) grantTable(w io.Writer, session string, list []client.Grant) {
	if len(list) == 0 {
		fmt.Fprintf(w, "There are no grants. Give one: paddock approve %s --for-session\n", session)
		return
	}
	rows := make([][]string, len(list))
	for i, g := range list {
		rows[i] = []string{g.GrantID, g.Tool, first(g.Actor, "-"), ago(a.now(), g.GrantedAt), oneLine(first(g.Path, string(g.Input)), 80)}
	}
	table(w, []string{"ID", "TOOL", "BY", "GIVEN", "WHAT"}, rows)
}

func newGrantRevoke(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "revoke SESSION GRANT",
		Aliases: []string{"remove", "rm"},
		Short:   "Have the same asked again from now on",
		Example: "  paddock grant revoke hello grant_01jdc8v6m3e5psh0wq0t7k0z1n",
		Args:    exactly("SESSION", "GRANT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.dial(cmd)
			if err != nil {
				return err
			}
			held, err := c.Grants(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if err := c.RevokeGrant(cmd.Context(), args[0], args[1]); err != nil {
				return err
			}
			already := !slices.ContainsFunc(held, func(g client.Grant) bool { return g.GrantID == args[1] })
			return a.result(revokeResult{args[1], already}, func(w io.Writer) {
				if already {
					fmt.Fprintf(w, "%s was revoked already; %s asks before it does that.\n", args[1], args[0])
					return
				}
				fmt.Fprintf(w, "%s asks again before it does that.\n", args[0])
			})
		},
	}
}
