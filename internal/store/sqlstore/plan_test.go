package sqlstore

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"paddock/internal/event"
	"paddock/internal/id"
	"paddock/internal/session"
	"paddock/internal/store"
)

// planner is a runner that gives the plan of a query instead of its rows.
type planner struct {
	on   *statements
	plan []string
}

func (p *planner) query(ctx context.Context, _ func(*sql.Rows) error, text string, args ...any) error {
	return p.on.query(ctx, func(rows *sql.Rows) error {
		var node, parent, unused int
		var detail string
		err := rows.Scan(&node, &parent, &unused, &detail)
		p.plan = append(p.plan, detail)
		return err
	}, "EXPLAIN QUERY PLAN "+text, args...)
}

// TestReadsUseIndexes keeps every read that grows with use on an index: no scan
// of a whole table, nothing sorted after reading.
func TestReadsUseIndexes(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), databaseName))
	ctx, own, run, team := t.Context(), id.New[id.Session](), id.New[id.Run](), id.New[id.Team]()
	for _, tc := range []struct {
		name string
		uses string // the index that the first step has to use
		read func(q queries) error
	}{
		{"events after", "INDEX sqlite_autoindex_events_1 (session_id=? AND seq>?)", func(q queries) error {
			_, err := q.Events(ctx, own, store.EventPage{After: 5, Limit: 10})
			return err
		}},
		{"events before", "INDEX sqlite_autoindex_events_1 (session_id=? AND seq<?)", func(q queries) error {
			_, err := q.Events(ctx, own, store.EventPage{Before: 5, Limit: 10, Raw: true})
			return err
		}},
		{"events of rare kinds", "INDEX events_rare (session_id=? AND seq>?)", func(q queries) error {
			_, err := q.Events(ctx, own, store.EventPage{After: 5, Kinds: []event.Kind{event.RunLog, event.RunFailed}, Limit: 10})
			return err
		}},
		{"events of a rare kind before", "INDEX events_rare (session_id=? AND seq<?)", func(q queries) error {
			_, err := q.Events(ctx, own, store.EventPage{Before: 5, Kinds: []event.Kind{event.RunLog}, Limit: 10, Raw: true})
			return err
		}},
		{"events of a rare kind from the beginning", "INDEX events_rare (session_id=?)", func(q queries) error {
			_, err := q.Events(ctx, own, store.EventPage{Kinds: []event.Kind{event.RunFailed}, Limit: 10})
			return err
		}},
		{"events of an ordinary kind", "INDEX sqlite_autoindex_events_1 (session_id=? AND seq>?)", func(q queries) error {
			_, err := q.Events(ctx, own, store.EventPage{After: 5, Kinds: []event.Kind{event.RunLog, event.TokenDelta}, Limit: 10})
			return err
		}},
		{"events of a run and a rare kind", "INDEX events_run (run_id=? AND seq>?)", func(q queries) error {
			_, err := q.Events(ctx, own, store.EventPage{After: 5, Run: run, Kinds: []event.Kind{event.RunLog}, Limit: 10})
			return err
		}},
		{"a team's environments", "INDEX environments_lasting (team_id=?)", func(q queries) error {
			_, err := q.Environments(ctx, store.EnvironmentFilter{Team: team, Limit: 10})
			return err
		}},
		{"environments of a name", "INDEX environments_name (team_id=? AND name=?)", func(q queries) error {
			_, err := q.Environments(ctx, store.EnvironmentFilter{Team: team, Name: "a", Limit: 1})
			return err
		}},
		{"environments of a content", "INDEX environments_content (team_id=? AND content_hash=?)", func(q queries) error {
			_, err := q.Environments(ctx, store.EnvironmentFilter{Team: team, ContentHash: "a", Limit: 1})
			return err
		}},
		{"an environment's sessions", "INDEX sessions_environment (environment_id=?)", func(q queries) error {
			_, err := q.Sessions(ctx, store.SessionFilter{Team: team, Environment: id.New[id.Environment](), States: []session.State{session.Ready, session.Paused}, Limit: 1})
			return err
		}},
		{"a team's events", "INDEX events_team (team=? AND place>?)", func(q queries) error {
			_, err := q.TeamEvents(ctx, team, store.EventPage{After: 5, Kinds: []event.Kind{event.ToolCallStarted}, Limit: 10})
			return err
		}},
		{"a team's events of rare kinds", "INDEX events_rare_team (team=? AND place>?)", func(q queries) error {
			_, err := q.TeamEvents(ctx, team, store.EventPage{After: 5, Kinds: []event.Kind{event.RunLog, event.RunFailed}, Limit: 10})
			return err
		}},
		{"a team's events of a rare kind from the beginning", "INDEX events_rare_team (team=?)", func(q queries) error {
			_, err := q.TeamEvents(ctx, team, store.EventPage{Kinds: []event.Kind{event.RunFailed}, Limit: 10, Raw: true})
			return err
		}},
		{"a team's events before", "INDEX events_team (team=? AND place<?)", func(q queries) error {
			_, err := q.TeamEvents(ctx, team, store.EventPage{Before: 5, Limit: 10, Raw: true})
			return err
		}},
		{"events of a run", "INDEX events_run (run_id=? AND seq>?)", func(q queries) error {
			_, err := q.Events(ctx, own, store.EventPage{After: 5, Run: run, Limit: 10})
			return err
		}},
		{"session by id", "INDEX sqlite_autoindex_sessions_1 (id=?)", func(q queries) error {
			_, err := q.SessionByID(ctx, own)
			return err
		}},
		{"sessions of a team", "INDEX sessions_team (team_id=? AND id<?)", func(q queries) error {
			_, err := q.Sessions(ctx, store.SessionFilter{Team: team, Before: own, Limit: 10})
			return err
		}},
		{"lasting sessions of a team", "INDEX sessions_lasting (team_id=?)", func(q queries) error {
			_, err := q.Sessions(ctx, store.SessionFilter{Team: team, States: []session.State{session.Ready, session.Paused}, Limit: 10})
			return err
		}},
		{"sessions of a state", "INDEX sessions_state (team_id=? AND state=?)", func(q queries) error {
			_, err := q.Sessions(ctx, store.SessionFilter{Team: team, States: []session.State{session.Failed}, Limit: 10})
			return err
		}},
		{"runs", "INDEX runs_session (session_id=?)", func(q queries) error {
			_, err := q.Runs(ctx, store.RunFilter{Session: own, States: []session.RunState{session.RunQueued}, Limit: 1})
			return err
		}},
		{"runs before", "INDEX runs_session (session_id=? AND ordinal<?)", func(q queries) error {
			_, err := q.Runs(ctx, store.RunFilter{Session: own, After: run, Newest: true, Limit: 1})
			return err
		}},
		{"approvals", "INDEX approvals_session (session_id=?)", func(q queries) error {
			_, err := q.Approvals(ctx, own, true)
			return err
		}},
		{"approvals of a team", "INDEX approvals_asked (team_id=? AND ordinal>?)", func(q queries) error {
			_, err := q.TeamApprovals(ctx, store.ApprovalFilter{Team: team, After: id.New[id.Approval](), Limit: 1})
			return err
		}},
		{"open approvals of a team", "INDEX approvals_open (team_id=?)", func(q queries) error {
			_, err := q.TeamApprovals(ctx, store.ApprovalFilter{Team: team, Open: true, Limit: 1})
			return err
		}},
		{"due approvals", "INDEX approvals_due (deadline_us<?)", func(q queries) error {
			_, err := q.DueApprovals(ctx, time.Now(), 1)
			return err
		}},
		{"grants", "INDEX grants_session (session_id=?)", func(q queries) error {
			_, err := q.Grants(ctx, own)
			return err
		}},
		{"due notices", "INDEX notices_due (channel=? AND due_at_us<?)", func(q queries) error {
			_, err := q.DueNotices(ctx, "url", time.Now(), 1)
			return err
		}},
		{"old notices", "INDEX notices_age (created_at_us<?)", func(q queries) error {
			_, err := one(ctx, q, scanCount, oldNotices, 1, 2)
			return err
		}},
		{"receipt", "INDEX sqlite_autoindex_receipts_1 (team_id=? AND key=?)", func(q queries) error {
			_, err := q.Receipt(ctx, team, "k")
			return err
		}},
		{"old receipts", "INDEX receipts_age (created_at_us<?)", func(q queries) error {
			_, err := one(ctx, q, scanCount, oldReceipts, 1, 2)
			return err
		}},
		{"token", "INDEX sqlite_autoindex_tokens_2 (hash=?)", func(q queries) error {
			_, err := q.Token(ctx, "h")
			return err
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := &planner{on: s.statements}
			_ = tc.read(queries{p}) // without rows most say that nothing was found
			plan := strings.Join(p.plan, "\n")
			if len(p.plan) == 0 || !strings.Contains(p.plan[0], tc.uses) || strings.Contains(plan, "SCAN") || strings.Contains(plan, "TEMP B-TREE") {
				t.Errorf("plan, which should use %s:\n%s", tc.uses, plan)
			}
		})
	}

	// A name has few holders, so putting these in order after reading is fine.
	p := &planner{on: s.statements}
	_, _ = queries{p}.Session(ctx, team, "a")
	if len(p.plan) == 0 || !strings.Contains(p.plan[0], "(team_id=? AND name_key=?)") {
		t.Errorf("session by name: %q", p.plan)
	}

	// A census reads what lives, and nothing that has ended.
	p = &planner{on: s.statements}
	_, _ = one(ctx, queries{p}, scanStateCount, countSessions)
	_, _ = one(ctx, queries{p}, scanStateCount, countRuns)
	want := "SCAN sessions USING COVERING INDEX sessions_alive; SEARCH runs USING COVERING INDEX runs_open (state=?)"
	if got := strings.Join(p.plan, "; "); got != want {
		t.Errorf("census: %q", got)
	}
}

// TestRareKinds compares the condition of the queries with the kinds it is for.
func TestRareKinds(t *testing.T) {
	for _, k := range event.Kinds {
		if strings.Contains(rare, "'"+string(k)+"'") != ordinary(k) {
			t.Errorf("%s: ordinary is %v, %s", k, ordinary(k), rare)
		}
	}
}
