package cli

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"

	"paddock/client"
)

// execResult is the JSON form of `exec`.
type execResult struct {
	client.ExecResult
	StdoutTruncated bool `json:"stdout_truncated"`
	StderrTruncated bool `json:"stderr_truncated"`
}

// mostExecTime is the longest time-out that a server takes.
const mostExecTime = 24 * time.Hour

func newExec(a *app) *cobra.Command {
	var request client.ExecRequest
	var timeout time.Duration
	var env []string
	var stdin bool
	cmd := &cobra.Command{
		Use:     "exec SESSION [flags] -- COMMAND [ARGUMENT...]",
		GroupID: groupMachine,
		Short:   "Run one command in a session's machine",
		Long: `Run one command in a session's machine, whatever the agent does, and exit with
its code. No shell is involved; use sh -c for one. A paused session is resumed
first. Output beyond 1 MiB a stream is cut.`,
		Example: `  paddock exec hello -- ls -la
  paddock exec hello -w /tmp -u root -- sh -c 'id; pwd'
  tar c . | paddock exec hello --stdin -- tar x`,
		Args: atLeast(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if request.Env, err = keyValues(cmd, "--env", env); err != nil {
				return err
			}
			if cmd.Flags().Changed("timeout") && timeout <= 0 {
				return usagef(cmd, "--timeout is %v, want more than nothing", timeout)
			}
			if timeout > mostExecTime {
				return usagef(cmd, "--timeout is %v, want at most 24h", timeout)
			}
			request.TimeoutSeconds = int64(math.Ceil(timeout.Seconds()))
			request.Argv = args[1:]
			if stdin {
				if request.Stdin, err = a.input(cmd.Context()); err != nil {
					return own(a, fmt.Errorf("read standard input: %w", err))
				}
			}
			return a.exec(cmd, args[0], request)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&request.Workdir, "workdir", "w", "", "`folder` to start in (default /workspace)")
	f.StringVarP(&request.User, "user", "u", "", "agent or root (default agent)")
	f.DurationVarP(&timeout, "timeout", "t", 0, "kill it after so long (default 1m)")
	f.StringArrayVarP(&env, "env", "e", nil, "add `KEY=VALUE` to its environment; may be repeated")
	f.BoolVar(&stdin, "stdin", false, "pass standard input on, all of it at once")
	dashHint(cmd, "put -- before the command")
	return cmd
}

func (a *app) exec(cmd *cobra.Command, ref string, request client.ExecRequest) error {
	c, err := a.dial(cmd)
	if err != nil {
		return own(a, err)
	}
	o, err := c.Exec(cmd.Context(), ref, request)
	if err != nil {
		return own(a, err)
	}
	if a.json() {
		err = a.result(execResult{o.ExecResult, o.StdoutTruncated, o.StderrTruncated}, nil)
	} else {
		_, outErr := a.out.Write(o.StdoutBytes())
		_, errErr := a.err.Write(o.StderrBytes())
		err = errors.Join(outErr, errErr)
		a.execNotes(o)
	}
	switch {
	case err != nil:
		return own(a, err)
	case o.TimedOut:
		return exitWith(exitTimedOut, "the command was killed: its time was up after %.0f s; see --timeout", float64(o.DurationMS)/1000)
	case o.ExitCode != 0:
		return silently(o.ExitCode)
	}
	return nil
}

func (a *app) execNotes(o client.ExecOutcome) {
	if o.StdoutTruncated {
		a.note("paddock: standard output was longer; write it to a file in the machine to keep all of it")
	}
	if o.StderrTruncated {
		a.note("paddock: standard error was longer; write it to a file in the machine to keep all of it")
	}
	if o.Detached {
		a.note("paddock: a child of the command lives on and holds its output")
	}
}

// own marks a failure of ours, so that it cannot be taken for the command's.
func own(a *app, err error) error {
	var e *exitError
	if !errors.As(err, &e) {
		e = a.explain(err)
	}
	if e.code == exitUsage || e.code == exitInterrupted {
		return e
	}
	return &exitError{code: exitOwnFailure, text: e.text, err: err}
}
