package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
)

// runner runs queries: on the pool of readers, or in a transaction. each is
// called for every row.
type runner interface {
	query(ctx context.Context, each func(*sql.Rows) error, text string, args ...any) error
}

// preparer is a *sql.DB or a *sql.Conn.
type preparer interface {
	PrepareContext(ctx context.Context, text string) (*sql.Stmt, error)
}

// statements runs queries, each prepared once. The texts are few: constants,
// and filters of some ten shapes.
type statements struct {
	on preparer

	mu     sync.Mutex // guards byText; not held while preparing
	byText map[string]*sql.Stmt
}

// errEnough is what the function of a query returns to read no further rows.
var errEnough = errors.New("enough")

func newStatements(on preparer) *statements {
	return &statements{on: on, byText: map[string]*sql.Stmt{}}
}

func (s *statements) query(ctx context.Context, each func(*sql.Rows) error, text string, args ...any) error {
	stmt, err := s.get(ctx, text)
	if err != nil {
		return err
	}
	rows, err := stmt.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	for err == nil && rows.Next() {
		err = each(rows)
	}
	if err == errEnough {
		err = nil
	}
	return errors.Join(err, rows.Err(), rows.Close())
}

// exec gives the number of rows that the statement touched.
func (s *statements) exec(ctx context.Context, text string, args ...any) (int64, error) {
	stmt, err := s.get(ctx, text)
	if err != nil {
		return 0, err
	}
	result, err := stmt.ExecContext(ctx, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func (s *statements) get(ctx context.Context, text string) (*sql.Stmt, error) {
	s.mu.Lock()
	stmt, ok := s.byText[text]
	s.mu.Unlock()
	if ok {
		return stmt, nil
	}
	stmt, err := s.on.PrepareContext(ctx, text)
	if err != nil {
		return nil, fmt.Errorf("prepare: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if first, ok := s.byText[text]; ok { // somebody else was faster
		return first, stmt.Close()
	}
	s.byText[text] = stmt
	return stmt, nil
}

func (s *statements) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, stmt := range s.byText {
		errs = append(errs, stmt.Close())
	}
	clear(s.byText)
	return errors.Join(errs...)
}
