package cli

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

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
func wrongFlag(cmd *cobra.Command, err error) error { return usagef(cmd, "%s", flagFault(cmd, err)) }

// flagFault says in our words what is wrong with a flag.
func flagFault(cmd *cobra.Command, err error) string {
	var absent *pflag.NotExistError
	var novalue *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &absent) && absent.GetSpecifiedShortnames() != "":
		return cmd.CommandPath() + " has no flag -" + absent.GetSpecifiedName()
	case errors.As(err, &absent):
		return noFlag(cmd, absent.GetSpecifiedName())
	case errors.As(err, &novalue):
		return "--" + novalue.GetFlag().Name + " needs a value"
	case errors.As(err, &invalid):
		return fmt.Sprintf("--%s is %q, %s", invalid.GetFlag().Name, invalid.GetValue(), wanted(invalid))
	default:
		return err.Error()
	}
}

// wanted says what may be given to a flag instead.
func wanted(err *pflag.InvalidValueError) string {
	switch err.GetFlag().Value.Type() {
	case "duration":
		return "want a duration such as 90s, 15m or 2h"
	case "int":
		return "want a whole number"
	case "bool":
		return "want true or false"
	default:
		return err.Unwrap().Error() // of a type of ours
	}
}

func noFlag(cmd *cobra.Command, name string) string {
	var names []string
	note := func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	}
	cmd.Flags().VisitAll(note)
	return cmd.CommandPath() + " has no flag --" + name + meant("--", spelling.Nearest(name, names))
}

// together finds, in what cobra says, flags that exclude each other.
var together = regexp.MustCompile(`\[([^\]]*)\] were all set`)

// wrongGroup refuses flags of which only one may be given.
func wrongGroup(cmd *cobra.Command, err error) error {
	found := together.FindStringSubmatch(err.Error())
	if found == nil {
		return usagef(cmd, "%v", err)
	}
	return usagef(cmd, "give only one of --%s", strings.Join(strings.Fields(found[1]), " and --"))
}

func meant(prefix, word string) string {
	if word == "" {
		return ""
	}
	return "; did you mean '" + prefix + word + "'?"
}
