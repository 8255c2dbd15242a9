package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"paddock/client"
)

// completeSessions lets the shell complete the names of living sessions
// wherever a command's first argument is one.
func (a *app) completeSessions(cmd *cobra.Command) {
	for _, c := range cmd.Commands() {
		a.completeSessions(c)
		if strings.Contains(c.Use, " SESSION") {
			c.ValidArgsFunction = a.sessionNames
		}
	}
}

func (a *app) sessionNames(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	many := strings.HasSuffix(cmd.Use, "SESSION...")
	if len(args) > 0 && !many {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	c, err := a.dial(cmd)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	// Nobody waits long for a completion, and the newest 200 are enough of one.
	ctx, cancel := context.WithTimeout(cmd.Context(), 2*time.Second)
	defer cancel()
	page, err := c.Sessions(ctx, client.ListOptions{Search: typed, PageSize: 200})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []cobra.Completion
	for _, s := range page.Sessions {
		if strings.HasPrefix(s.Name, typed) {
			names = append(names, cobra.CompletionWithDesc(s.Name, stateWord(s)))
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
