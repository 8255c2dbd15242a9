package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"paddock/internal/store"
)

// queries implements store.Reader on a runner.
type queries struct{ run runner }

// one reads the single row of a query, store.ErrNotFound when there is none.
func one[T any](ctx context.Context, q queries, scan func(*sql.Rows) (T, error), text string, args ...any) (found T, err error) {
	list, err := all(ctx, q, scan, text, args...)
	if err != nil {
		return found, err
	}
	if len(list) == 0 {
		return found, store.ErrNotFound
	}
	return list[0], nil
}

// all reads every row of a query; never nil.
func all[T any](ctx context.Context, q queries, scan func(*sql.Rows) (T, error), text string, args ...any) ([]T, error) {
	list := []T{}
	err := q.run.query(ctx, func(rows *sql.Rows) error {
		item, err := scan(rows)
		list = append(list, item)
		return err
	}, text, args...)
	if err != nil {
		return nil, err
	}
	return list, nil
}

// insertInto is the statement that inserts a row of these columns.
func insertInto(table string, columns []string) string {
	marks := make([]string, len(columns))
	for i := range columns {
		marks[i] = fmt.Sprintf("$%d", i+1)
	}
	return "INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ") VALUES (" + strings.Join(marks, ", ") + ")"
}

// orReplace goes on where insertInto ends: over the row with the same key, one
// column or several with commas between.
func orReplace(key string, columns []string) string {
	parts := strings.Split(key, ", ")
	var sets []string
	for _, c := range columns {
		if !slices.Contains(parts, c) {
			sets = append(sets, c+" = excluded."+c)
		}
	}
	return " ON CONFLICT (" + key + ") DO UPDATE SET " + strings.Join(sets, ", ")
}

// where collects the conditions of a query with their parameters.
type where struct {
	terms []string
	args  []any
}

// arg adds a parameter and gives its mark.
func (w *where) arg(value any) string {
	w.args = append(w.args, value)
	return fmt.Sprintf("$%d", len(w.args))
}

// add adds a condition; %s stands for the mark of each value.
func (w *where) add(term string, values ...any) {
	marks := make([]any, len(values))
	for i, v := range values {
		marks[i] = w.arg(v)
	}
	w.terms = append(w.terms, fmt.Sprintf(term, marks...))
}

// in adds: the column is one of the values; none means any.
func in[S ~string](w *where, column string, values []S) {
	if len(values) == 0 {
		return
	}
	marks := make([]string, len(values))
	for i, v := range values {
		marks[i] = w.arg(string(v))
	}
	w.terms = append(w.terms, column+" IN ("+strings.Join(marks, ", ")+")")
}

// String is the WHERE clause, empty without conditions.
func (w *where) String() string {
	if len(w.terms) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(w.terms, " AND ")
}

// limit is the LIMIT clause, empty for no limit.
func (w *where) limit(n int) string {
	if n <= 0 {
		return ""
	}
	return " LIMIT " + w.arg(n)
}
