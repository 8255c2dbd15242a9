package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// newMan writes the manual pages that packages of Paddock carry.
func newMan(a *app, root *cobra.Command) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:     "man",
		Hidden:  true,
		Short:   "Write a manual page for each command into a folder",
		Example: "  paddock man --dir /usr/local/share/man/man1",
		Args:    exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dir == "" {
				return usagef(cmd, "%s needs --dir", cmd.CommandPath())
			}
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return fmt.Errorf("make folder for manual pages: %w", err)
			}
			for _, c := range shown(root) {
				if err := os.WriteFile(filepath.Join(dir, pageName(c)+".1"), []byte(a.manPage(c)), 0o644); err != nil {
					return fmt.Errorf("write manual page: %w", err)
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "`folder` to write to; it is made when absent")
	return cmd
}

// shown lists a command and all below it that help shows.
func shown(cmd *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{cmd}
	for _, c := range cmd.Commands() {
		if !c.Hidden && c.Name() != "help" {
			all = append(all, shown(c)...)
		}
	}
	return all
}

// pageName is the name of a command's page: paddock-run-watch.
func pageName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manPage is a command's page in the language of man(7).
func (a *app) manPage(cmd *cobra.Command) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line(`.TH %s 1 "" "paddock %s" "Paddock"`, strings.ToUpper(roff(pageName(cmd))), roff(a.hooks.Version))
	line(".SH NAME")
	line(`%s \- %s`, roff(pageName(cmd)), roff(cmd.Short))
	line(".SH SYNOPSIS")
	line(`\fB%s\fR`, roff(cmd.UseLine()))
	if len(cmd.Aliases) > 0 {
		line(".PP\nAlso: %s", roff(strings.Join(cmd.Aliases, ", ")))
	}
	if cmd.Long != "" {
		line(".SH DESCRIPTION")
		paragraphs(line, cmd.Long)
	}
	options(line, "OPTIONS", cmd.NonInheritedFlags())
	options(line, "GLOBAL OPTIONS", cmd.InheritedFlags())
	if cmd.Example != "" {
		line(".SH EXAMPLES\n.nf")
		for text := range strings.Lines(cmd.Example) {
			line("%s", roff(strings.TrimRight(strings.TrimPrefix(text, "  "), "\n")))
		}
		line(".fi")
	}
	if cmd.Name() != "exit-codes" {
		line(".SH EXIT STATUS\n0 when done; see %s for the others.", roff("paddock-exit-codes(1)"))
	}
	var also []string
	if cmd.HasParent() {
		also = append(also, pageName(cmd.Parent())+"(1)")
	}
	for _, c := range cmd.Commands() {
		if !c.Hidden && c.Name() != "help" {
			also = append(also, pageName(c)+"(1)")
		}
	}
	if len(also) > 0 {
		line(".SH SEE ALSO\n%s", roff(strings.Join(also, ", ")))
	}
	return b.String()
}

// paragraphs writes a text; lines that begin with blanks stay as they are.
func paragraphs(line func(string, ...any), text string) {
	for i, part := range strings.Split(text, "\n\n") {
		if i > 0 {
			line(".PP")
		}
		table := strings.Contains(part, "\n  ")
		if table {
			line(".nf")
		}
		line("%s", roff(strings.Trim(part, "\n")))
		if table {
			line(".fi")
		}
	}
}

func options(line func(string, ...any), title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	line(".SH %s", title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		line(".TP\n\\fB%s\\fR \\fI%s\\fR\n%s", roff(name), roff(value), roff(usage))
	})
}

// roff lets a text stand for itself in roff.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "…", `...`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}
