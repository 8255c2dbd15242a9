package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"paddock/internal/clientcontext"
	"paddock/internal/plain"
)

// doctorResult is the JSON form of `doctor`.
type doctorResult struct {
	OK     bool          `json:"ok"` // nothing stops work
	Checks []DoctorCheck `json:"checks"`
}

func newDoctor(a *app) *cobra.Command {
	places := clientcontext.Here()
	cfg := DoctorConfig{Listen: clientcontext.DefaultListen, DataDir: places.DataDir, Root: places.Root}
	cmd := &cobra.Command{
		Use:     "doctor",
		GroupID: groupServer,
		Short:   "Look whether this host can run Paddock, and say how to mend what it lacks",
		Long: `Look at what Paddock needs of this host, each with its fix. As root it then starts a
sandbox for real, on a server and a folder of its own beside whatever runs here:
it runs a command in it, pauses and resumes it, says what isolates it and which
limits are in force, and removes all of it. It takes no token.

It exits with 1 when something stops work.`,
		Example: `  sudo paddock doctor
  paddock doctor -o json
  sudo paddock doctor --data-dir /srv/paddock --template-dir /srv/templates`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := folders(&cfg.DataDir, &cfg.TemplateDir, places); err != nil {
				return err
			}
			if t, err := a.target(); err == nil {
				cfg.URL = t.URL
			} else {
				cfg.URL = first(a.url, a.getenv("PADDOCK_URL"), clientcontext.DefaultURL)
			}
			if cfg.TokenFile = a.tokenFile; cfg.TokenFile == "" && a.getenv("PADDOCK_TOKEN") == "" {
				cfg.TokenFile = first(a.contextFile, a.getenv("PADDOCK_CONTEXT"))
			}
			result := doctorResult{Checks: []DoctorCheck{}}
			cfg.Report = func(c DoctorCheck) {
				result.Checks = append(result.Checks, c)
				if !a.json() {
					a.check(c)
				}
			}
			a.patience.Store(serverPatience)
			well, err := a.hooks.Doctor(cmd.Context(), cfg)
			if err != nil {
				return err
			}
			if result.OK = well; a.json() {
				if err := a.result(result, nil); err != nil {
					return err
				}
			}
			if !well {
				return exitWith(exitFailed, "something stops work here: see what is marked with ✗")
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&cfg.Listen, "listen", cfg.Listen, "`address` of the server to come, host:port")
	f.StringVar(&cfg.DataDir, "data-dir", cfg.DataDir, "`folder` of the server")
	f.StringVar(&cfg.TemplateDir, "template-dir", "", "`folder` of root file systems (default as for serve)")
	return cmd
}

// check prints one check, and its fix below it.
func (a *app) check(c DoctorCheck) {
	mark := map[string]string{"ok": "✓", "warning": "!", "failed": "✗", "skipped": "-"}[c.Status]
	line := fmt.Sprintf("%s %-13s %s", mark, c.Name, c.Detail)
	if c.TookMS >= 10 {
		line += fmt.Sprintf(" (%.2f s)", (time.Duration(c.TookMS) * time.Millisecond).Seconds())
	}
	out := plain.Writer(a.out)
	fmt.Fprintln(out, line)
	if c.Fix != "" {
		fmt.Fprintf(out, "  %-13s → %s\n", "", c.Fix)
	}
}
