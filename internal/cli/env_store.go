package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v4"

	"paddock/client"
	"paddock/internal/plain"
)

// environmentsResult is the JSON form of `env list`.
type environmentsResult struct {
	Configs []client.EnvironmentSummary `json:"configs"`
}

// environmentResult is the JSON form of `env show`.
type environmentResult struct {
	client.Environment
	Sessions []client.Session `json:"sessions"`
}

// removedResult is the JSON form of `env remove`.
type removedResult struct {
	Removed []string `json:"removed"`
}

func newEnvCreate(a *app) *cobra.Command {
	var from specFlags
	cmd := &cobra.Command{
		Use:     "create NAME",
		Aliases: []string{"new"},
		Short:   "Store a spec under a name, for sessions to be made from",
		Long: `Store a spec under a name. It never changes: the same again is the same, and
another spec under the same name is a newer environment, which the name then
means; the older one is still there under its id.`,
		Example: `  paddock env create review-bot -f spec.yaml
  paddock create --environment review-bot --name monday`,
		Args: exactly("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := from.read(cmd, a)
			if err != nil {
				return err
			}
			c, err := a.dial(cmd)
			if err != nil {
				return err
			}
			if text, err = from.sendImage(cmd, a, c, text); err != nil {
				return err
			}
			env, err := c.CreateEnvironment(cmd.Context(), args[0], text)
			if err != nil {
				return from.blame(cmd, err)
			}
			from.warn(a, env.Warnings)
			return a.result(env, func(w io.Writer) { fmt.Fprintf(w, "%s  %s\n", env.Name, env.ID) })
		},
	}
	from.register(cmd)
	return cmd
}

func newEnvList(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List environments, newest first",
		Long: `List environments, newest first. A session that was made from a spec made one of its
name.`,
		Example: "  paddock env list",
		Args:    exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.dial(cmd)
			if err != nil {
				return err
			}
			list, err := everyPage(func(token string) ([]client.EnvironmentSummary, string, error) {
				page, err := c.Environments(cmd.Context(), 0, token)
				return page.Configs, page.NextPageToken, err
			})
			if err != nil {
				return err
			}
			return a.result(environmentsResult{list}, func(w io.Writer) { a.environmentTable(w, list) })
		},
	}
}

func (a *app) environmentTable(w io.Writer, list []client.EnvironmentSummary) {
	if len(list) == 0 {
		fmt.Fprintln(w, "There are no environments. Make one: paddock env create NAME -f spec.yaml")
		return
	}
	rows := make([][]string, len(list))
	for i, e := range list {
		hash := first(e.ContentHash, "-")
		rows[i] = []string{e.Name, e.ID, hash[:min(12, len(hash))], first(e.CreatedBy, "-"), ago(a.now(), e.CreatedAt)}
	}
	table(w, []string{"NAME", "ID", "CONTENT", "BY", "CREATED"}, rows)
}

func newEnvShow(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "show ENVIRONMENT",
		Short:   "Show an environment: its spec, and the sessions that live of it",
		Example: "  paddock env show review-bot",
		Args:    exactly("ENVIRONMENT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.dial(cmd)
			if err != nil {
				return err
			}
			env, err := c.Environment(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			sessions, err := listFlags{environment: env.ID}.find(cmd.Context(), c)
			if err != nil {
				return err
			}
			spec, err := yaml.Marshal(env.Manifest)
			if err != nil {
				return fmt.Errorf("write spec: %w", err)
			}
			return a.result(environmentResult{env, sessions}, func(w io.Writer) { a.showEnvironment(w, env, string(spec), sessions) })
		},
	}
}

func (a *app) showEnvironment(w io.Writer, env client.Environment, spec string, sessions []client.Session) {
	names := make([]string, len(sessions))
	for i, s := range sessions {
		names[i] = s.Name
	}
	fields(w, [2]string{"name", env.Name}, [2]string{"id", env.ID}, [2]string{"content", env.ContentHash},
		[2]string{"created", ago(a.now(), env.CreatedAt)}, [2]string{"by", env.CreatedBy},
		[2]string{"secrets", secretNames(env.Credentials)}, [2]string{"sessions", strings.Join(names, ", ")})
	fmt.Fprintf(w, "\n%s", plain.Clean(spec))
}

// secretNames lists secrets, and the hosts of those that go to one alone.
func secretNames(slots []client.CredentialSlot) string {
	names := make([]string, len(slots))
	for i, s := range slots {
		if names[i] = plain.Line(s.Name); s.Host != "" {
			names[i] += " (for " + plain.Line(s.Host) + ")"
		}
	}
	return strings.Join(names, ", ")
}

func newEnvRemove(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "remove ENVIRONMENT...",
		Aliases: []string{"rm", "delete"},
		Short:   "Remove environments that no living session was made from",
		Example: "  paddock env remove review-bot",
		Args:    atLeast(1),
		RunE: func(cmd *cobra.Command, refs []string) error {
			c, err := a.dial(cmd)
			if err != nil {
				return err
			}
			refs = slices.Compact(refs)
			for _, ref := range refs {
				if err := c.RemoveEnvironment(cmd.Context(), ref); err != nil {
					return err
				}
			}
			return a.result(removedResult{refs}, func(w io.Writer) {
				for _, ref := range refs {
					fmt.Fprintf(w, "environment %s is removed\n", ref)
				}
			})
		},
	}
}
