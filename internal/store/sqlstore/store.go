package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"

	"paddock/internal/store"
)

// Store is a store.Store over one database.
type Store struct {
	queries
	write, read *sql.DB
	statements  *statements // of read
	writer      *writer
}

var _ store.Store = (*Store)(nil)

// ErrClosed is what Update returns after Close.
var ErrClosed = errors.New("store is closed")

// Open opens the SQLite database at path, making it (0600) and its folder
// (0700) when missing, and brings its schema up to date. After a crash the
// database recovers by itself. Two processes must not open one path.
func Open(ctx context.Context, path string, log *slog.Logger) (*Store, error) {
	write, read, err := connectSQLite(path)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", path, err)
	}
	if err := migrate(ctx, write, sqliteDialect, log); err != nil {
		return nil, fmt.Errorf("open store %s: %w", path, errors.Join(err, read.Close(), write.Close()))
	}
	writer, err := startWriter(ctx, write, sqliteDialect)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", path, errors.Join(err, read.Close(), write.Close()))
	}
	reading := newStatements(read)
	return &Store{queries: queries{reading}, write: write, read: read, statements: reading, writer: writer}, nil
}

// Update implements store.Store.
func (s *Store) Update(ctx context.Context, fn func(store.Tx) error) error {
	return s.writer.update(ctx, fn)
}

// Close implements store.Store; a second Close does nothing.
func (s *Store) Close() error {
	// The writing connection goes last: only it can fold the log into the file.
	return errors.Join(s.writer.close(), s.statements.close(), s.read.Close(), s.write.Close())
}
