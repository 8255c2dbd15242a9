package cli

import (
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"paddock/internal/spelling"
)

// noCommand refuses a word that names no command below cmd.
func noCommand(cmd *cobra.Command, word string) error {
	var words []string
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			words = append(append(words, c.Name()), c.Aliases...)
		}
	}
	return usagef(cmd, "%s has no command %q%s", cmd.CommandPath(), word, meant("", spelling.Nearest(word, words)))
}

// wrongFlag refuses flags that a command does not have or cannot read.
func wrongFlag(cmd *cobra.Command, err error) error {
	var absent *pflag.NotExistError
	if !errors.As(err, &absent) || len(absent.GetSpecifiedName()) < 2 {
		return usagef(cmd, "%v", err)
	}
	var names []string
	note := func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	}
	cmd.Flags().VisitAll(note)
	return usagef(cmd, "%s has no flag --%s%s", cmd.CommandPath(), absent.GetSpecifiedName(), meant("--", spelling.Nearest(absent.GetSpecifiedName(), names)))
}

func meant(prefix, word string) string {
	if word == "" {
		return ""
	}
	return "; did you mean '" + prefix + word + "'?"
}
