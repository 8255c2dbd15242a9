package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

// The exit codes, as `paddock help exit-codes` documents them.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitConflict    = 4
	exitPayment     = 5
	exitUnreachable = 6
	exitConfig      = 78 // EX_CONFIG of sysexits.h: do not start me again
	exitTimedOut    = 124
	exitInterrupted = 130
	exitOwnFailure  = 255 // of exec: Paddock's failure, not the command's
)

const exitCodes = `Exit codes:
  0    done
  1    failed; for prompt and run watch: the run failed
  2    the command line is wrong
  3    there is no such session, run or approval
  4    conflict: not possible in the present state, or a person has to answer first
  5    the balance is used up
  6    no server answers
  78   of serve: its configuration or its data does not fit, starting it again does not help
  124  timed out
  130  interrupted; for prompt and run watch: the run was cancelled

exec exits with the code of the command that it ran, 124 when that timed out,
and uses 255 for Paddock's own failures.`

// exitError carries the code to exit with. Its text is for people; empty when
// all was said.
type exitError struct {
	code int
	text string
	err  error
}

func (e *exitError) Error() string { return e.text }
func (e *exitError) Unwrap() error { return e.err }

var errInterrupted = &exitError{code: exitInterrupted}

// exitWith ends the command with a code and one sentence.
func exitWith(code int, format string, args ...any) error {
	return &exitError{code: code, text: fmt.Sprintf(format, args...)}
}

// silently ends the command with a code; everything was said before.
func silently(code int) error { return &exitError{code: code} }

// Misconfigured makes Main exit with 78: what is wrong with a server is not
// cured by starting it again.
func Misconfigured(err error) error {
	return &exitError{code: exitConfig, text: err.Error(), err: err}
}

// usagef is a mistake in the command line.
func usagef(cmd *cobra.Command, format string, args ...any) error {
	return exitWith(exitUsage, "%s\nSee '%s --help'.", fmt.Sprintf(format, args...), cmd.CommandPath())
}

// finish says what went wrong and gives the code to exit with.
func (a *app) finish(err error) int {
	if err == nil {
		return exitOK
	}
	var e *exitError
	if !errors.As(err, &e) {
		e = a.explain(err)
	}
	if e.text != "" {
		a.note("paddock: %s", e.text)
	}
	return e.code
}

// timedOut says whether an error is a deadline of this command line.
func timedOut(err error) bool { return errors.Is(err, context.DeadlineExceeded) }
