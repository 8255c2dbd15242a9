package sqlstore

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"paddock/internal/event"
	"paddock/internal/store"
	"paddock/internal/store/storetest"
)

func TestMain(m *testing.M) {
	if folder := os.Getenv(childVariable); folder != "" {
		writeForever(folder)
	}
	goleak.VerifyTestMain(m)
}

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store { return open(t, filepath.Join(t.TempDir(), "s.db")) })
}

// open opens a store for the length of the test.
func open(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Open(t.Context(), path, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestReopen closes the store and opens it again: everything is there, nobody
// but the owner may read it, and the log has been folded into the file.
func TestReopen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new folder", "a?b#c %41.db")
	s := open(t, path)
	made := ensureSession(t.Context(), s, "a")
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		checkMode(t, name, 0o600)
	}
	checkMode(t, filepath.Dir(path), fs.ModeDir|0o700)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path + "-wal"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the log remains: %v", err)
	}
	found, err := open(t, path).SessionByID(t.Context(), made.ID)
	if err != nil || found.Name != "a" {
		t.Errorf("found %+v, %v", found, err)
	}
}

func checkMode(t *testing.T, name string, want fs.FileMode) {
	t.Helper()
	if info, err := os.Stat(name); err != nil || info.Mode() != want {
		t.Errorf("%s: %v, %v, want %v", name, info.Mode(), err, want)
	}
}

// TestReadersCannotWrite holds the pool of readers to its name.
func TestReadersCannotWrite(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), databaseName))
	if _, err := s.read.ExecContext(t.Context(), "DELETE FROM sessions"); err == nil {
		t.Error("a reading connection writes")
	}
}

// TestDiskFull fills the database to a limit: updates fail whole, and go on
// when there is room again.
func TestDiskFull(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), databaseName))
	session := ensureSession(t.Context(), s, "a")
	pages := func(n int) {
		t.Helper()
		if _, err := s.writer.conn.ExecContext(t.Context(), fmt.Sprint("PRAGMA max_page_count = ", n)); err != nil {
			t.Fatal(err)
		}
	}
	pages(1) // means the present size
	var small, large sync.WaitGroup
	for range 4 {
		small.Go(func() { // may succeed, or fail with those whose commit it shares
			_ = s.Update(t.Context(), func(tx store.Tx) error {
				_, err := tx.SessionByID(t.Context(), session.ID)
				return err
			})
		})
		large.Go(func() {
			err := s.Update(t.Context(), func(tx store.Tx) error {
				_, err := tx.Append(session.ID, time.Now(), event.Draft{Kind: event.RunLog, SourceRaw: make([]byte, 1<<20)})
				return err
			})
			if err == nil {
				t.Error("a megabyte fits into a full database")
			}
		})
	}
	large.Wait()
	small.Wait()
	pages(1 << 30)
	if got := readLog(t, s, ensureSession(t.Context(), s, "a")); len(got) != 0 {
		t.Errorf("%d events of updates that failed", len(got))
	}
	err := s.Update(t.Context(), func(tx store.Tx) error {
		_, err := tx.Append(session.ID, time.Now(), event.Draft{Kind: event.RunLog})
		return err
	})
	if err != nil {
		t.Error(err)
	}
	checkIntegrity(t, s)
}
