package sqlstore

import (
	"database/sql"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"paddock/internal/id"
)

// TestNothingOfASessionIsOverlooked holds the list of tables that are emptied
// when a session is forgotten against the schema.
func TestNothingOfASessionIsOverlooked(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), databaseName))
	var want, got []string
	err := s.run.query(t.Context(), func(rows *sql.Rows) error {
		var name string
		err := rows.Scan(&name)
		want = append(want, name)
		return err
	}, `SELECT DISTINCT t.name FROM sqlite_schema t JOIN pragma_table_info(t.name) c
		WHERE t.type = 'table' AND c.name = 'session_id'
		AND t.name <> 'notices' -- which go when they are delivered or too old
		ORDER BY t.name`)
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range ofSession {
		got = append(got, of.table)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("emptied are %v, tables of sessions are %v", got, want)
	}
}

// TestForgettingUsesIndexes looks at the plan of every statement that forgets,
// the checks of foreign keys included: each column that refers to a table that
// is emptied leads an index.
func TestForgettingUsesIndexes(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), databaseName))
	checkPlan(t, s, longestGone, "INDEX sessions_destroyed (ended_at_us<?)", 1)
	for _, of := range ofSession {
		checkPlan(t, s, deleteSome(of.table, of.order), "(session_id=?)", id.New[id.Session]().String(), 5)
	}
	err := s.run.query(t.Context(), func(rows *sql.Rows) error {
		var table, column string
		err := rows.Scan(&table, &column)
		checkPlan(t, s, "SELECT rowid FROM "+table+" WHERE "+column+" = $1", "("+column+"=?)", "x")
		return err
	}, `SELECT t.name, f."from" FROM sqlite_schema t JOIN pragma_foreign_key_list(t.name) f
		WHERE t.type = 'table' AND f."table" IN ('sessions', 'runs', 'events') AND f.seq = 0`)
	if err != nil {
		t.Fatal(err)
	}
}

func checkPlan(t *testing.T, s *Store, text, uses string, args ...any) {
	t.Helper()
	p := &planner{on: s.statements}
	if err := p.query(t.Context(), nil, text, args...); err != nil {
		t.Fatal(err)
	}
	plan := strings.Join(p.plan, "\n")
	if !strings.Contains(plan, uses) || strings.Contains(plan, "SCAN") || strings.Contains(plan, "TEMP B-TREE") {
		t.Errorf("plan of %s, which should use %s:\n%s", text, uses, plan)
	}
}
