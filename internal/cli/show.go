package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"paddock/client"
	"paddock/internal/plain"
)

func newShow(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "show SESSION",
		Aliases: []string{"get", "status"},
		GroupID: groupSessions,
		Short:   "Show a session: how it is and what can be done next",
		Example: `  paddock show hello
  paddock show hello -o json`,
		Args: exactly("SESSION"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.dial(cmd)
			if err != nil {
				return err
			}
			s, err := c.Session(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			var asks []client.Approval
			if !a.json() && s.Run != nil && s.Run.State == client.RunAwaiting {
				if asks, err = c.Approvals(cmd.Context(), s.SessionID, false); err != nil {
					return err
				}
			}
			var secrets []client.CredentialSlot
			if !a.json() && s.ConfigID != "" {
				env, err := c.Environment(cmd.Context(), s.ConfigID)
				if err != nil && !client.IsCode(err, "not_found") { // it may have been removed
					return err
				}
				secrets = env.Credentials
			}
			return a.result(s, func(w io.Writer) { a.sessionPage(w, s, asks, secrets) })
		},
	}
}

func (a *app) sessionPage(w io.Writer, s client.Session, asks []client.Approval, secrets []client.CredentialSlot) {
	run, memory := runColumn(s), s.Memory
	if s.Run != nil {
		run = s.Run.RunID + " (" + run + ")"
	}
	if memory == "kept" {
		memory = ""
	} else if !s.RestoredTo.IsZero() {
		memory += "; files of " + ago(a.now(), s.RestoredTo)
	}
	lines := [][2]string{{"name", s.Name}, {"id", s.SessionID}, {"agent", strings.TrimSpace(s.Adapter + " " + s.AdapterVersion)}, {"state", stateWord(s)}, {"run", run}}
	for _, one := range asks {
		lines = append(lines, [2]string{"asks", plain.Line(question(one.Details))})
	}
	fields(w, append(lines,
		[2]string{"idle", idle(a.now(), s)}, [2]string{"memory", memory},
		[2]string{"tokens", tokens(s.TotalTokensIn, s.TotalTokensOut)}, [2]string{"cost", dollars(s.CumulativeCostMicros)},
		[2]string{"saved", saved(a.now(), s)}, [2]string{"isolation", s.Isolation}, [2]string{"limits", limits(s)},
		[2]string{"sandbox", s.SandboxID}, [2]string{"environment", s.ConfigID}, [2]string{"secrets", secretNames(secrets)}, [2]string{"forked from", s.ParentSessionID},
		[2]string{"created", ago(a.now(), s.CreatedAt)}, [2]string{"last event", ago(a.now(), s.LastEventAt)})...)
	fmt.Fprintf(w, "\n%s\n", situation(s))
	for _, command := range next(s, asks) {
		fmt.Fprintln(w, "  "+command)
	}
}

// saved says of when the files are that it would come back with.
func saved(now time.Time, s client.Session) string {
	if s.RecoveryPoint == nil {
		return ""
	}
	return fmt.Sprintf("its files, %s (%d MiB)", ago(now, s.RecoveryPoint.At), s.RecoveryPoint.Bytes>>20)
}

// limits says what holds the machine to its size.
func limits(s client.Session) string {
	if s.Limits == "none" {
		return "of CPU and memory are not in force: this host lets the server make no cgroups"
	}
	return s.Limits
}
