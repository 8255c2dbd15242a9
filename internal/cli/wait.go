package cli

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"paddock/client"
)

// condition is something a session can be waited for.
type condition struct {
	word  string
	holds func(client.Session) bool
}

// conditions are the words of --for.
func conditions() []condition {
	is := func(status string) func(client.Session) bool {
		return func(s client.Session) bool { return s.Status == status }
	}
	return []condition{
		{"ready", is(client.SessionReady)},
		{"idle", func(s client.Session) bool {
			up := s.Status == client.SessionReady || s.Status == client.SessionPaused
			return up && s.Run == nil && s.QueuedRuns == 0
		}},
		{"paused", is(client.SessionPaused)},
		{"asking", func(s client.Session) bool { return s.Run != nil && s.Run.State == client.RunAwaiting }},
		{"failed", is(client.SessionFailed)},
		{"removed", is(client.SessionDestroyed)},
	}
}

func newWait(a *app) *cobra.Command {
	var words []string
	for _, c := range conditions() {
		words = append(words, c.word)
	}
	var word string
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:     "wait SESSION",
		GroupID: groupSessions,
		Short:   "Wait until a session is ready, idle, paused and so on",
		Long: `Wait until a session is as wanted; at once when it is already. Idle means that no
run is active and none is queued; asking, that a run waits for a person.

It exits with 1 when the session ends otherwise, and with 124 after --timeout.`,
		Example: `  paddock wait hello --for idle
  paddock wait hello --for paused --timeout 10m
  paddock prompt hello -d "slow 100" && paddock wait hello --for idle && paddock pause hello`,
		Args: exactly("SESSION"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOf(cmd, "--for", word, words...); err != nil {
				return err
			}
			if cmd.Flags().Changed("timeout") && timeout <= 0 {
				return usagef(cmd, "--timeout is %v, want more than nothing", timeout)
			}
			c, err := a.dial(cmd)
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			if timeout > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, timeout)
				defer cancel()
			}
			wanted := conditions()[slices.Index(words, word)]
			spin := a.spin("waiting until " + args[0] + " is " + word)
			s, err := waitFor(ctx, c, args[0], wanted)
			spin.stop()
			if timedOut(err) {
				return exitWith(exitTimedOut, "%s is not %s after %v; it is %s", args[0], word, timeout, first(stateWord(s), "not known"))
			}
			if err != nil {
				return err
			}
			return a.result(s, func(w io.Writer) { a.sessionLine(w, s) })
		},
	}
	cmd.Flags().StringVar(&word, "for", "ready", "`state` to wait for: "+strings.Join(words, ", "))
	cmd.Flags().DurationVarP(&timeout, "timeout", "t", 0, "give up after so long")
	return cmd
}

// waitFor looks at a session, and again after each event that can have changed
// it. The stream is open before the second look, so no change falls between.
func waitFor(ctx context.Context, c *client.Client, ref string, wanted condition) (client.Session, error) {
	s, err := c.Session(ctx, ref)
	if err != nil || wanted.holds(s) {
		return s, err
	}
	stream, err := c.Events(ctx, s.SessionID, client.EventsOptions{GiveUp: patient})
	if err != nil {
		return s, err
	}
	defer stream.Close()
	for {
		now, err := c.Session(ctx, s.SessionID)
		switch {
		case err == nil:
			s = now
		case ctx.Err() != nil:
			return s, ctx.Err()
		case client.IsCode(err, "not_found"):
			return s, err
		} // else the stream says whether the server comes back
		if err == nil && wanted.holds(s) {
			return s, nil
		}
		if err == nil && (s.Status == client.SessionFailed || s.Status == client.SessionDestroyed) {
			return s, exitWith(exitFailed, "%s will not be %s any more; it is %s%s", s.Name, wanted.word, stateWord(s), withReason(s.Message))
		}
		for {
			e, err := stream.Next()
			if errors.Is(err, io.EOF) {
				break // gone for good; the next look says how
			}
			if err != nil {
				return s, err
			}
			if changes(e) {
				break
			}
		}
	}
}

// changes says whether an event can have changed what is waited for.
func changes(e client.Event) bool {
	switch e.Type {
	case "session.updated", "run.started", "run.completed", "run.failed", "run.human_input_requested", "run.human_input_received":
		return true
	}
	return false
}
