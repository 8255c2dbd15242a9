package cli

import (
	"context"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"paddock/client"
	"paddock/internal/agents"
	"paddock/internal/plain"
)

// completion gives what a word may be; args are the words before it.
type completion func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective)

// completionTime is how long a person who pressed Tab is made to wait at most.
const completionTime = time.Second

// nothing ends a completion that has nothing to offer, files included.
const nothing = cobra.ShellCompDirectiveNoFileComp

// complete lets the shell complete arguments by what a command's usage line
// calls them, and flags by their names.
func (a *app) complete(cmd *cobra.Command) {
	arguments := map[string]completion{
		"SESSION": a.sessionNames, "RUN": a.runIDs, "APPROVAL": a.approvalIDs, "GRANT": a.grantIDs, "PATH": a.workspacePaths,
		"ENVIRONMENT": a.environmentNames, "TEMPLATE": a.templateNames, "AGENT@VERSION": words(agents.Names()...),
	}
	var conditionWords []string
	for _, c := range conditions() {
		conditionWords = append(conditionWords, c.word)
	}
	flags := map[string]completion{
		"parent": a.sessionNames, "environment": a.environmentNames, "run": a.runIDs, "size": a.sizes,
		"agent": words(append([]string{"demo", "custom", "none"}, agents.Names()...)...), "permissions": words("allow", "ask", "deny"), "template": a.templateNames,
		"status": list(states...), "for": words(conditionWords...), "on-ask": words(onAskApprove, onAskReject, onAskDefer),
		"user": words("agent", "root"), "output": words("text", "wide", "json"),
		"log-level": words("debug", "info", "warn", "error"), "log-format": words("auto", "text", "json"),
	}
	a.completeTree(cmd, arguments, flags)
}

func (a *app) completeTree(cmd *cobra.Command, arguments, flags map[string]completion) {
	for _, c := range cmd.Commands() {
		a.completeTree(c, arguments, flags)
	}
	register := func(f *pflag.Flag) {
		if give := flags[f.Name]; give != nil {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, cobra.CompletionFunc(give)) // fails only for a second one
		}
	}
	cmd.LocalNonPersistentFlags().VisitAll(register)
	cmd.PersistentFlags().VisitAll(register)
	names := strings.Fields(strings.NewReplacer("[", "", "]", "").Replace(cmd.Use))[1:]
	if len(names) == 0 || arguments[strings.TrimSuffix(names[0], "...")] == nil {
		return
	}
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		name := names[min(len(args), len(names)-1)]
		many := strings.HasSuffix(name, "...")
		give := arguments[strings.TrimSuffix(name, "...")]
		if give == nil || len(args) >= len(names) && !many {
			return nil, nothing
		}
		return give(cmd, args, typed)
	}
}

// words completes one of a few words.
func words(all ...string) completion {
	return func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return all, nothing
	}
}

// list completes the last of several words with commas between them.
func list(all ...string) completion {
	return func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		before := typed[:strings.LastIndexByte(typed, ',')+1]
		var found []cobra.Completion
		for _, word := range all {
			found = append(found, before+word)
		}
		return found, nothing | cobra.ShellCompDirectiveNoSpace
	}
}

// ask runs a question to the server that a completion needs, silently.
func (a *app) ask(cmd *cobra.Command, question func(ctx context.Context, c *client.Client) error) {
	c, err := a.dial(cmd)
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
	defer cancel()
	_ = question(ctx, c) // nobody could be told
}

func (a *app) sessionNames(cmd *cobra.Command, args []string, typed string) (found []cobra.Completion, _ cobra.ShellCompDirective) {
	a.ask(cmd, func(ctx context.Context, c *client.Client) error {
		// The newest 200 are enough of a choice.
		page, err := c.Sessions(ctx, client.ListOptions{Search: typed, PageSize: 200})
		for _, s := range page.Sessions {
			if strings.HasPrefix(s.Name, typed) {
				found = append(found, cobra.CompletionWithDesc(s.Name, stateWord(s)))
			}
		}
		return err
	})
	return found, nothing
}

// environmentNames completes the newest environments.
func (a *app) environmentNames(cmd *cobra.Command, _ []string, _ string) (found []cobra.Completion, _ cobra.ShellCompDirective) {
	a.ask(cmd, func(ctx context.Context, c *client.Client) error {
		page, err := c.Environments(ctx, 200, "")
		for _, e := range page.Configs {
			found = append(found, e.Name)
		}
		return err
	})
	slices.Sort(found)
	return slices.Compact(found), nothing
}

// templateNames completes the newest templates.
func (a *app) templateNames(cmd *cobra.Command, _ []string, _ string) (found []cobra.Completion, _ cobra.ShellCompDirective) {
	if cmd.Flags().Lookup("template") != nil {
		found = append(found, "host")
	}
	a.ask(cmd, func(ctx context.Context, c *client.Client) error {
		page, err := c.Templates(ctx, 200, "")
		for _, t := range page.Templates {
			found = append(found, t.Name)
		}
		return err
	})
	return found, nothing
}

// runIDs completes the runs of the session before it, newest first.
func (a *app) runIDs(cmd *cobra.Command, args []string, typed string) (found []cobra.Completion, _ cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, nothing
	}
	a.ask(cmd, func(ctx context.Context, c *client.Client) error {
		page, err := c.Runs(ctx, args[0], 0, "")
		for _, r := range page.Runs {
			found = append(found, cobra.CompletionWithDesc(r.RunID, runWord(r.State)+", "+plain.Line(oneLine(r.Text, 40))))
		}
		return err
	})
	return found, nothing | cobra.ShellCompDirectiveKeepOrder
}

func (a *app) approvalIDs(cmd *cobra.Command, args []string, typed string) (found []cobra.Completion, _ cobra.ShellCompDirective) {
	a.ask(cmd, func(ctx context.Context, c *client.Client) error {
		pending, err := c.Approvals(ctx, args[0], false)
		for _, one := range pending {
			found = append(found, cobra.CompletionWithDesc(one.RequestID, plain.Line(question(one.Details))))
		}
		return err
	})
	return found, nothing
}

func (a *app) grantIDs(cmd *cobra.Command, args []string, typed string) (found []cobra.Completion, _ cobra.ShellCompDirective) {
	a.ask(cmd, func(ctx context.Context, c *client.Client) error {
		grants, err := c.Grants(ctx, args[0])
		for _, g := range grants {
			found = append(found, cobra.CompletionWithDesc(g.GrantID, plain.Line(g.Tool)))
		}
		return err
	})
	return found, nothing
}

// workspacePaths completes files of a session that is awake: to look would wake
// a paused one.
func (a *app) workspacePaths(cmd *cobra.Command, args []string, typed string) (found []cobra.Completion, how cobra.ShellCompDirective) {
	folder, _ := path.Split(typed)
	a.ask(cmd, func(ctx context.Context, c *client.Client) error {
		s, err := c.Session(ctx, args[0])
		if err != nil || s.Status != client.SessionReady {
			return err
		}
		files, err := c.ListFiles(ctx, s.SessionID, first(folder, "."))
		for _, f := range files {
			name := folder + f.Name
			if f.Type == "dir" {
				name += "/"
			}
			// A name that a shell or a terminal could take for something else is
			// left to be typed.
			if strings.HasPrefix(name, typed) && plain.Line(name) == name {
				found = append(found, name)
			}
		}
		return err
	})
	return found, nothing | cobra.ShellCompDirectiveNoSpace
}

func (a *app) sizes(cmd *cobra.Command, args []string, typed string) (found []cobra.Completion, _ cobra.ShellCompDirective) {
	a.ask(cmd, func(ctx context.Context, c *client.Client) error {
		sizes, err := c.Sizes(ctx)
		for _, s := range sizes {
			found = append(found, s.Slug)
		}
		return err
	})
	return found, nothing
}
