package sqlstore

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
)

// dialect is what differs between databases.
type dialect struct {
	goose      goose.Dialect
	migrations string // folder of its migrations
	lockRow    string // ends a SELECT that holds other writers off the row
}

// sqliteDialect needs no row locks: its writer is alone in the database.
var sqliteDialect = dialect{goose: goose.DialectSQLite3, migrations: "migrations/sqlite"}

// readers is how many connections read at once. Reads are short and hit the
// page cache; more connections only cost memory.
const readers = 4

// connectSQLite makes the file when it is missing and connects to it: one
// connection that writes, and a pool of connections that cannot.
func connectSQLite(path string) (write, read *sql.DB, err error) {
	if err := configureSQLite(); err != nil {
		return nil, nil, err
	}
	if err := makeFile(path); err != nil {
		return nil, nil, err
	}
	// WAL checkpoints run in the commit that fills 1,000 pages (4 MiB); the limit
	// gives the disk space of a burst back.
	write, err = sql.Open("sqlite", dsn(path, "rw", "_txlock=immediate",
		"_pragma=journal_mode(WAL)", "_pragma=synchronous(FULL)", "_pragma=foreign_keys(1)",
		"_pragma=journal_size_limit(67108864)", "_pragma=cache_size(-16384)"))
	if err != nil {
		return nil, nil, fmt.Errorf("open for writing: %w", err)
	}
	write.SetMaxOpenConns(1)
	write.SetMaxIdleConns(1)
	read, err = sql.Open("sqlite", dsn(path, "ro", "_pragma=query_only(1)"))
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("open for reading: %w", err), write.Close())
	}
	read.SetMaxOpenConns(readers)
	read.SetMaxIdleConns(readers)
	return write, read, nil
}

// dsn names the file as a URI, so that no character of the path is special. A
// lock held by another process (a backup, a person with a shell) is waited for.
func dsn(path, mode string, options ...string) string {
	uri := url.URL{Scheme: "file", Path: path, RawQuery: "mode=" + mode + "&_pragma=busy_timeout(10000)"}
	for _, o := range options {
		uri.RawQuery += "&" + o
	}
	return uri.String()
}

// configureSQLite sets the two switches that the driver has per process.
//
// OFD locks: POSIX locks vanish when anything in the process closes any
// descriptor of the file; then a shell on the database would think itself alone
// and might remove the log under the server. fdatasync: as durable as fsync,
// without a journal entry of the file system for the time stamps.
func configureSQLite() error {
	if _, err := sqlite.OFDLocking(true); err != nil && !errors.Is(err, sqlite.ErrOFDLockingUnavailable) {
		return fmt.Errorf("use OFD locks: %w", err)
	}
	if _, err := sqlite.Fdatasync(true); err != nil && !errors.Is(err, sqlite.ErrFdatasyncUnavailable) {
		return fmt.Errorf("use fdatasync: %w", err)
	}
	return nil
}

// makeFile makes folder and file, private to their owner, and puts the file's
// entry on the disk. SQLite gives its log the same mode.
func makeFile(path string) error {
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return os.Chmod(path, 0o600)
	}
	if err != nil {
		return err
	}
	dir, err := os.Open(folder)
	if err != nil {
		return errors.Join(err, file.Close())
	}
	return errors.Join(dir.Sync(), dir.Close(), file.Close())
}
