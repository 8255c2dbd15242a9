package sqlstore

import (
	"context"
	"database/sql"

	"paddock/internal/session"
	"paddock/internal/store"
)

// The conditions are those of the indexes sessions_alive and runs_open.
const (
	countSessions = "SELECT state, COUNT(*) FROM sessions WHERE state <> 'destroyed' GROUP BY state"
	countRuns     = "SELECT state, COUNT(*) FROM runs WHERE state IN ('queued', 'running', 'awaiting_hitl') GROUP BY state"
)

// stateCount is how many there are in a state.
type stateCount struct {
	state string
	n     int
}

func scanStateCount(rows *sql.Rows) (c stateCount, err error) {
	err = rows.Scan(&c.state, &c.n)
	return c, err
}

// Census implements store.Reader.
func (q queries) Census(ctx context.Context) (store.Census, error) {
	c := store.Census{Sessions: map[session.State]int{}, Runs: map[session.RunState]int{}}
	sessions, err := all(ctx, q, scanStateCount, countSessions)
	if err != nil {
		return c, wrap(err, "count sessions")
	}
	runs, err := all(ctx, q, scanStateCount, countRuns)
	if err != nil {
		return c, wrap(err, "count runs")
	}
	for _, s := range sessions {
		c.Sessions[session.State(s.state)] = s.n
	}
	for _, r := range runs {
		c.Runs[session.RunState(r.state)] = r.n
	}
	return c, nil
}
