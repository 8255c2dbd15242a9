package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"paddock/client"
)

// states are the words of --status and, in capitals, what they are on the wire.
var states = []string{"provisioning", "ready", "paused", "updating", "destroying", "destroyed", "failed"}

// sessionsResult is the JSON form of `list`.
type sessionsResult struct {
	Sessions []client.Session `json:"sessions"`
}

// listFlags choose sessions.
type listFlags struct {
	all    bool
	status []string
	name   string
	search string
	parent string

	environment string
	limit       int
	tree        bool
}

func newList(a *app) *cobra.Command {
	var f listFlags
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		GroupID: groupSessions,
		Short:   "List sessions, newest first",
		Long: `List sessions, newest first: those that are alive, unless --all or --status asks
for others, too. -o wide adds ids and environments.`,
		Example: `  paddock list
  paddock list --all --limit 20
  paddock list --status paused,failed -o json
  paddock list --tree`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, word := range f.status {
				if err := oneOf(cmd, "--status", word, states...); err != nil {
					return err
				}
			}
			if cmd.Flags().Changed("limit") && f.limit < 1 {
				return usagef(cmd, "--limit is %d, at least 1 is needed", f.limit)
			}
			c, err := a.dial(cmd)
			if err != nil {
				return err
			}
			found, err := f.find(cmd.Context(), c)
			if err != nil {
				return err
			}
			return a.result(sessionsResult{found}, func(w io.Writer) { a.sessionTable(w, found, f) })
		},
	}
	cmd.Flags().BoolVarP(&f.all, "all", "a", false, "also failed and removed sessions")
	cmd.Flags().StringSliceVar(&f.status, "status", nil, "only those in these `states`: "+strings.Join(states, ", "))
	cmd.Flags().StringVar(&f.name, "name", "", "only those of this `name`, upper and lower case alike")
	cmd.Flags().StringVar(&f.search, "search", "", "only those with this `text` in name or id")
	cmd.Flags().StringVar(&f.parent, "parent", "", "only forks of this `session`")
	cmd.Flags().StringVar(&f.environment, "environment", "", "only those made from this `environment`")
	cmd.Flags().IntVar(&f.limit, "limit", 0, "only the newest so many")
	cmd.Flags().BoolVar(&f.tree, "tree", false, "forks below the session they come from")
	cmd.MarkFlagsMutuallyExclusive("all", "status")
	return cmd
}

// find asks for the sessions that the flags choose, newest first.
func (f listFlags) find(ctx context.Context, c *client.Client) ([]client.Session, error) {
	options := client.ListOptions{Name: f.name, Search: f.search, Environment: f.environment}
	if f.parent != "" {
		parent, err := c.Session(ctx, f.parent)
		if err != nil {
			return nil, err
		}
		options.Parent = parent.SessionID
	}
	wanted := []string{""}
	switch {
	case f.all:
		wanted = []string{client.SessionAll}
	case len(f.status) > 0:
		wanted = nil
		for _, word := range f.status {
			wanted = append(wanted, "SESSION_STATUS_"+strings.ToUpper(word))
		}
		slices.Sort(wanted)
		wanted = slices.Compact(wanted)
	}
	found := []client.Session{}
	for _, options.Status = range wanted {
		some, err := pages(ctx, c, options, f.limit)
		if err != nil {
			return nil, err
		}
		found = append(found, some...)
	}
	if len(wanted) > 1 { // ids sort by time
		slices.SortFunc(found, func(a, b client.Session) int { return strings.Compare(b.SessionID, a.SessionID) })
		// One that changed its state between two questions is in both answers.
		found = slices.CompactFunc(found, func(a, b client.Session) bool { return a.SessionID == b.SessionID })
	}
	if f.limit > 0 && len(found) > f.limit {
		found = found[:f.limit]
	}
	return found, nil
}

// pages asks page by page, until there are enough; 0 means all.
func pages(ctx context.Context, c *client.Client, options client.ListOptions, enough int) ([]client.Session, error) {
	options.PageSize = 200
	if enough > 0 {
		options.PageSize = min(enough, options.PageSize)
	}
	var found []client.Session
	for {
		page, err := c.Sessions(ctx, options)
		if err != nil {
			return nil, err
		}
		found = append(found, page.Sessions...)
		options.PageToken = page.NextPageToken
		if options.PageToken == "" || enough > 0 && len(found) >= enough {
			return found, nil
		}
	}
}

func (a *app) sessionTable(w io.Writer, sessions []client.Session, f listFlags) {
	switch {
	case len(sessions) > 0:
	case len(f.status) > 0 || f.name+f.search+f.parent != "":
		fmt.Fprintln(w, "There are no such sessions. 'paddock list --all' shows all there are.")
		return
	default:
		fmt.Fprintln(w, "There are no sessions. Start one: paddock create --name hello")
		return
	}
	branches := make([]string, len(sessions))
	if f.tree {
		sessions, branches = lineage(sessions)
	}
	rows := make([][]string, len(sessions))
	for i, s := range sessions {
		rows[i] = []string{branches[i] + s.Name, stateReason(s), s.Adapter, first(runColumn(s), "-"), age(a.now(), s.CreatedAt), ago(a.now(), s.LastEventAt)}
		if a.output == wideFormat {
			rows[i] = append(rows[i], s.SessionID, s.ConfigID)
		}
	}
	header := []string{"NAME", "STATE", "AGENT", "RUN", "AGE", "LAST EVENT"}
	if a.output == wideFormat {
		header = append(header, "ID", "ENVIRONMENT")
	}
	table(w, header, rows)
}

// stateReason is the state with why it is so, short enough for a column.
func stateReason(s client.Session) string {
	word := stateWord(s)
	switch {
	case s.Status == client.SessionFailed && s.Message != "":
		word += ": " + oneLine(s.Message, 40)
	case s.PausePending:
		word += ", pause pending"
	case s.Terminal != "" && (s.Status == client.SessionReady || s.Status == client.SessionPaused):
		word += ", ended"
	}
	return word
}

// runColumn is the active run's state and how many wait behind it.
func runColumn(s client.Session) string {
	text := ""
	if s.Run != nil {
		text = runWord(s.Run.State)
	}
	if s.QueuedRuns > 0 {
		text = strings.TrimSpace(fmt.Sprintf("%s +%d queued", text, s.QueuedRuns))
	}
	return text
}
