package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"paddock/client"
	"paddock/internal/plain"
)

// patient is how long a command that follows waits for a server that went away.
const patient = 15 * time.Minute

// eventsFlags choose events.
type eventsFlags struct {
	options        client.EventsOptions
	all            bool
	follow, replay bool
	since          string
	newest         int
}

func newEvents(a *app) *cobra.Command {
	var f eventsFlags
	cmd := &cobra.Command{
		Use:     "events [SESSION]",
		Aliases: []string{"logs"},
		GroupID: groupSessions,
		Short:   "Print a session's history, or follow it",
		Long: `Print a session's history: all of it, then end, which --all says outright. With --follow: the recent
history, then what happens; with --follow --replay all of it first. When the
connection breaks or the server restarts, it goes on where it was: nothing is
lost and nothing comes twice.

Without SESSION: the history of all sessions in one, new ones included.`,
		Example: `  paddock events hello
  paddock events hello --all -o json > hello.jsonl
  paddock events hello --follow
  paddock events --follow --types run.completed,run.failed
  paddock events hello --since 10m --limit 50
  paddock events hello --run run_01jdc8v6m3e5psh0wq0t7k0z1n -o json`,
		Args: between(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && f.options.Run != "" {
				return usagef(cmd, "--run needs the run's SESSION")
			}
			since, err := f.check(cmd, a.now())
			if err != nil {
				return err
			}
			c, err := a.dial(cmd)
			if err != nil {
				return err
			}
			p := &eventPrinter{a: a, since: since}
			if f.options.Before == "" {
				p.keep = f.newest
			} else {
				f.options.Limit = f.newest
			}
			if len(args) == 0 {
				p.names = sessionNames{}
				return f.print(cmd, c, "", p)
			}
			return f.print(cmd, c, args[0], p)
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&f.follow, "follow", "f", false, "go on with what happens")
	flags.BoolVar(&f.all, "all", false, "all that is stored, then end; with -o json one event a line")
	flags.BoolVar(&f.replay, "replay", false, "with --follow: all of the history first")
	flags.StringVar(&f.since, "since", "", "only what happened since: a `time` such as 10m (ago) or 2026-11-30T15:04:05Z")
	flags.IntVar(&f.newest, "limit", 0, "only the newest so many; with --before the length of the page, at most 1000 (default 200)")
	flags.StringVar(&f.options.After, "after", "", "start after the event with this `id`")
	flags.StringVar(&f.options.Before, "before", "", "one page that ends before the event with this `id`")
	flags.StringVar(&f.options.Run, "run", "", "only events of this `run`; ends with it")
	flags.StringSliceVar(&f.options.Types, "types", nil, "only events of these `types`, with commas between them")
	flags.BoolVar(&f.options.Raw, "raw", false, "with the agent's own frames (in JSON)")
	for _, other := range []string{"follow", "since", "limit", "after", "before", "run"} {
		cmd.MarkFlagsMutuallyExclusive("all", other)
	}
	cmd.MarkFlagsMutuallyExclusive("before", "follow")
	cmd.MarkFlagsMutuallyExclusive("before", "after")
	cmd.MarkFlagsMutuallyExclusive("before", "run")
	cmd.MarkFlagsMutuallyExclusive("limit", "replay")
	cmd.MarkFlagsMutuallyExclusive("limit", "run")
	return cmd
}

// check refuses what means nothing and reads --since.
func (f *eventsFlags) check(cmd *cobra.Command, now time.Time) (since time.Time, err error) {
	if cmd.Flags().Changed("limit") && f.newest < 1 {
		return since, usagef(cmd, "--limit is %d, at least 1 is needed", f.newest)
	}
	if f.replay && !f.follow {
		return since, usagef(cmd, "--replay goes with --follow; without it all of the history is printed anyway")
	}
	if f.since == "" {
		return since, nil
	}
	if d, err := time.ParseDuration(f.since); err == nil {
		return now.Add(-d), nil
	}
	if since, err = time.Parse(time.RFC3339, f.since); err != nil {
		return since, usagef(cmd, "--since is %q, want a duration such as 10m or a time such as %s", f.since, now.UTC().Format(time.RFC3339))
	}
	return since, nil
}

// print reads the stored history where it is wanted, then what happens; ref ""
// means that of all sessions.
func (f *eventsFlags) print(cmd *cobra.Command, c *client.Client, ref string, p *eventPrinter) error {
	options := f.options
	options.OnState = p.state
	// A run's stream ends with the run, a page by itself.
	stored := (!f.follow || f.replay || f.since != "" || f.newest > 0) && options.Run == ""
	options.ReplayOnly = stored
	if !stored {
		options.GiveUp = patient
	}
	more, err := p.all(cmd, c, ref, options)
	if err != nil {
		return err
	}
	if more {
		p.a.note("There are older events: use --before with the first id above.")
	}
	if !f.follow || !stored {
		return nil
	}
	_, err = p.all(cmd, c, ref, client.EventsOptions{After: p.last, Types: options.Types, Raw: options.Raw, OnState: p.state, GiveUp: patient})
	return err
}

// eventPrinter prints events, and remembers the last it met.
type eventPrinter struct {
	a     *app
	since time.Time
	keep  int // while above 0, only the newest so many are kept, until the end
	kept  []client.Event
	last  string       // id
	lost  bool         // the connection is
	names sessionNames // nil: the events are of one session
}

// all prints a stream to its end.
func (p *eventPrinter) all(cmd *cobra.Command, c *client.Client, ref string, options client.EventsOptions) (more bool, err error) {
	stream, err := open(cmd.Context(), c, ref, options)
	if err != nil {
		return false, err
	}
	defer stream.Close()
	show := func(e client.Event) error {
		if p.names == nil || p.a.json() {
			return p.a.printEvent(e)
		}
		return p.a.printEventOf(p.names.of(cmd.Context(), c, e.SessionID), e)
	}
	for {
		e, err := stream.Next()
		if errors.Is(err, io.EOF) {
			return stream.HasMore(), p.flush(show)
		}
		if err == nil {
			err = p.add(e, show)
		}
		if err != nil {
			return false, err
		}
	}
}

func (p *eventPrinter) add(e client.Event, show func(client.Event) error) error {
	p.last = e.EventID
	switch {
	case e.Timestamp.Before(p.since):
		return nil
	case p.keep > 0:
		p.kept = append(p.kept, e)
		if len(p.kept) > p.keep {
			p.kept = p.kept[1:]
		}
		return nil
	}
	return show(e)
}

// flush prints what was kept; from then on nothing is.
func (p *eventPrinter) flush(show func(client.Event) error) error {
	for _, e := range p.kept {
		if err := show(e); err != nil {
			return err
		}
	}
	p.keep, p.kept = 0, nil
	return nil
}

// state tells of a connection that broke.
func (p *eventPrinter) state(s client.StreamState) {
	switch {
	case s.State == "reconnecting" && !p.lost:
		p.a.note("The connection to %s broke; trying again.", p.a.server.URL)
		p.lost = true
	case s.State == "live" && p.lost:
		p.a.note("Connected again; nothing was lost.")
		p.lost = false
	}
	if s.Truncated {
		p.a.note("The server does not know the event to start after; this is the history from its beginning.")
	}
}

func (a *app) printEvent(e client.Event) error {
	if a.json() {
		return a.line(e)
	}
	line := fmt.Sprintf("%5d  %s  %-26s  %s", e.Seq, e.Timestamp.Local().Format("15:04:05"), e.Type, gist(e))
	if e.TruncatedBytes > 0 {
		line += fmt.Sprintf("  (%d bytes dropped)", e.TruncatedBytes)
	}
	_, err := fmt.Fprintln(plain.Writer(a.out), plain.Line(strings.TrimRight(line, " ")))
	return err
}
