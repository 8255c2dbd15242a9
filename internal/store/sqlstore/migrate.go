package sqlstore

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/pressly/goose/v3"
)

// Migrations are numbered NNNN_name.sql, go up only, and never change once
// released.
//
//go:embed migrations/*/*.sql
var migrations embed.FS

// ErrNewer reports a database of a newer Paddock.
var ErrNewer = errors.New("start the newer version that wrote it")

// migrate brings the database to the newest schema. A database of a newer
// Paddock is refused: what its schema means is not known here.
func migrate(ctx context.Context, db *sql.DB, d dialect, log *slog.Logger) error {
	provider, err := newProvider(db, d)
	if err != nil {
		return err
	}
	current, newest, err := provider.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("read schema version: %w", err)
	}
	if current > newest {
		return fmt.Errorf("the data has schema %d, this version of Paddock knows up to %d: %w", current, newest, ErrNewer)
	}
	if current > 0 && current < newest {
		log.InfoContext(ctx, "migrating the database; a large one takes a while", "from", current, "to", newest)
	}
	results, err := provider.Up(ctx)
	if err != nil {
		return fmt.Errorf("migrate from schema %d: %w", current, err)
	}
	if len(results) > 0 && current > 0 {
		log.InfoContext(ctx, "database migrated", "from", current, "to", newest)
	}
	return nil
}

func newProvider(db *sql.DB, d dialect) (*goose.Provider, error) {
	files, err := fs.Sub(migrations, d.migrations)
	if err != nil {
		return nil, fmt.Errorf("find migrations: %w", err)
	}
	provider, err := goose.NewProvider(d.goose, db, files,
		goose.WithDisableGlobalRegistry(true), goose.WithTableName("schema_versions"))
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	return provider, nil
}
