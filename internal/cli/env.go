package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"paddock/client"
	"paddock/internal/plain"
)

func newEnv(a *app) *cobra.Command {
	return group("env", groupSessions, "Keep the specs that sessions are made from",
		newEnvCreate(a), newEnvList(a), newEnvShow(a), newEnvRemove(a), newEnvValidate(a))
}

func newEnvValidate(a *app) *cobra.Command {
	var from specFlags
	cmd := &cobra.Command{
		Use:   "validate [FILE]",
		Short: "Say what is wrong with a spec, and how well its agent keeps its rules",
		Long: `Say what is wrong with a spec, and how well its agent keeps its permission rules,
without making anything. Of each rule it says

  exact        each call that the rule means comes to it
  degraded     some calls do not
  unsupported  none does
  unverified   the agent decides by itself which do

A rule with enforcement: strict that is not exact fails, here and at a create. So
does permissions.filesystem where the server's sandboxes cannot keep it; where they
can it is exact for every agent.

A rule on commands decides what the agent has the shell run, not what a program or
script file that it starts does by itself; permissions.filesystem and egress bind those.`,
		Example: `  paddock env validate spec.yaml
  paddock env validate - -o json < spec.yaml`,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := between(0, 1)(cmd, args); err != nil || len(args) == 0 {
				return err
			}
			if from.file != "" {
				return usagef(cmd, "%s takes one file; it is given %q and --file %q", cmd.CommandPath(), args[0], from.file)
			}
			return cmd.Flags().Set("file", args[0]) // so that it excludes the flags that a file replaces
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := from.read(cmd, a)
			if err != nil {
				return err
			}
			c, err := a.dial(cmd)
			if err != nil {
				return err
			}
			v, err := c.ValidatePolicy(cmd.Context(), text)
			if err != nil {
				return from.blame(cmd, err)
			}
			if err := a.result(v, func(w io.Writer) { policyTable(w, v) }); err != nil {
				return err
			}
			if !v.OK {
				return exitWith(exitFailed, "what has to be kept exactly is not; a create would be refused")
			}
			return nil
		},
	}
	from.register(cmd)
	return cmd
}

// policyTable prints a line per rule, and why where it is not kept in full.
func policyTable(w io.Writer, v client.PolicyValidation) {
	rows := [][]string{{"permissions.default", v.DefaultAction + " *", v.DefaultActionVerdict, v.DefaultActionReason}}
	for _, one := range v.Verdicts {
		rule := one.Rule.Action + " " + one.Rule.Tool
		for _, key := range slices.Sorted(maps.Keys(one.Rule.Match)) {
			rule += fmt.Sprintf(" {%s: %s}", key, one.Rule.Match[key])
		}
		if one.Rule.Enforcement == "strict" {
			rule += " strict"
		}
		rows = append(rows, []string{one.Rule.ID, plain.Line(rule), one.Verdict, plain.Line(one.Reason)})
	}
	if f := v.Filesystem; f.Mode != "" { // a server of an older version does not say
		where := strings.Join(append([]string{f.Mode}, f.AllowWrite...), " ")
		rows = append(rows, []string{"permissions.filesystem", plain.Line(where), f.Verdict, plain.Line(f.Reason)})
	}
	table(w, []string{"WHERE", "RULE", "IS KEPT", "WHY"}, rows)
}
