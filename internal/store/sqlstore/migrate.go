package sqlstore

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"
	"time"

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
	if current == 0 { // a new one: nobody waits for it
		if _, err := provider.Up(ctx); err != nil {
			return fmt.Errorf("make schema %d: %w", newest, err)
		}
		return nil
	}
	if current < newest {
		log.InfoContext(ctx, "migrating the database; a large one takes a while", "from", current, "to", newest)
		if err := upgrade(ctx, provider, log); err != nil {
			return fmt.Errorf("migrate from schema %d: %w", current, err)
		}
		log.InfoContext(ctx, "database migrated", "from", current, "to", newest)
	}
	return nil
}

// upgrade applies what is missing, one migration after the other, and says how
// long each took: some write every event anew.
func upgrade(ctx context.Context, provider *goose.Provider, log *slog.Logger) error {
	for {
		begun := time.Now()
		patience := everySo(stillMigrating, func() {
			log.InfoContext(ctx, "still migrating the database", "for", time.Since(begun).Round(time.Second))
		})
		result, err := provider.UpByOne(ctx)
		patience()
		if errors.Is(err, goose.ErrNoNextVersion) {
			return nil
		}
		if err != nil {
			return err
		}
		log.InfoContext(ctx, "schema migrated", "to", result.Source.Version, "took", result.Duration)
	}
}

// stillMigrating is how often a migration that takes long says so.
const stillMigrating = 10 * time.Second

// everySo does something again and again until it is told to stop.
func everySo(often time.Duration, do func()) (stop func()) {
	ticker, over := time.NewTicker(often), make(chan struct{})
	var ticking sync.WaitGroup
	ticking.Go(func() {
		for {
			select {
			case <-ticker.C:
				do()
			case <-over:
				return
			}
		}
	})
	return func() {
		ticker.Stop()
		close(over)
		ticking.Wait()
	}
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
