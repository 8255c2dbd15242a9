package sqlstore

import (
	"bytes"
	"database/sql"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"paddock/internal/id"
	"paddock/internal/store"
	"paddock/internal/store/storetest"
)

// longHistory are 5,000 events of the third schema, every fifth with a native
// frame, each frame and payload of a size of its own.
const longHistory = `
INSERT INTO teams VALUES ('team` + oldID + `', 'default', 1);
INSERT INTO sessions VALUES (1, 'sess` + oldID + `', 'team` + oldID + `', 'Old', 'old', NULL, 'demo', 'ready', 1, '', '', '', '', 900000, 0, 0, '',
	1, 1700000000005000, NULL, NULL, NULL, 5000, NULL, 'kept');
WITH RECURSIVE n(seq) AS (SELECT 1 UNION ALL SELECT seq + 1 FROM n WHERE seq < 5000)
INSERT INTO events SELECT 'sess` + oldID + `', seq, 'evt_0' || printf('%025d', seq), NULL, 1700000000000000 + seq,
	CASE seq % 2 WHEN 0 THEN 'run.token_delta' ELSE 'run.tool_call_completed' END,
	CAST('{"summary":"' || printf('%.*c', 1 + seq % 700, 'x') || '"}' AS BLOB), 'acp' FROM n;
INSERT INTO event_raw SELECT session_id, seq, zeroblob(1 + seq % 900) FROM events WHERE seq % 5 = 0;`

// TestMigrateHistory brings a long history to the newest schema: every event is
// there as it was, its bytes are counted, and it can be trimmed.
func TestMigrateHistory(t *testing.T) {
	path := filepath.Join(t.TempDir(), databaseName)
	withDatabase(t, path, func(db *sql.DB) {
		provider, err := newProvider(db, sqliteDialect)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := provider.UpTo(t.Context(), 3); err != nil {
			t.Fatal(err)
		}
		if _, err := db.ExecContext(t.Context(), longHistory); err != nil {
			t.Fatal(err)
		}
	})
	var said bytes.Buffer
	s, err := Open(t.Context(), path, slog.New(slog.NewTextHandler(&said, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	for _, line := range []string{"migrating the database", "to=4 took=", "to=15 took=", "database migrated"} {
		if !strings.Contains(said.String(), line) {
			t.Errorf("the log does not say %q:\n%s", line, said.String())
		}
	}
	checkIntegrity(t, s)
	own := parsed[id.Session](t, "sess"+oldID)
	read := func() (size int64, dropped int64) {
		found, err := s.SessionByID(t.Context(), own)
		if err != nil {
			t.Fatal(err)
		}
		events, err := s.Events(t.Context(), own, store.EventPage{Raw: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := storetest.CheckLog(found, events); err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			raw := int64(0)
			if e.Seq%5 == 0 {
				raw = 1 + e.Seq%900
			}
			if int64(len(e.Data))+e.Dropped != int64(len(`{"summary":""}`))+1+e.Seq%700 || int64(len(e.SourceRaw))+e.RawDropped != raw {
				t.Fatalf("event %d has %d bytes and a frame of %d, lacks %d and %d", e.Seq, len(e.Data), len(e.SourceRaw), e.Dropped, e.RawDropped)
			}
			size += int64(len(e.Data) + len(e.SourceRaw))
			dropped += e.Dropped + e.RawDropped
		}
		if found.History != size {
			t.Fatalf("the session says it holds %d bytes, it holds %d", found.History, size)
		}
		return size, dropped
	}
	size, dropped := read()
	if dropped != 0 {
		t.Fatalf("migrating dropped %d bytes", dropped)
	}
	if err := s.Update(t.Context(), func(tx store.Tx) error { return tx.TrimHistory(own, size/2, 100_000) }); err != nil {
		t.Fatal(err)
	}
	if left, dropped := read(); left > size/2 || left+dropped != size {
		t.Errorf("of %d bytes %d are left, %d dropped", size, left, dropped)
	}
}

// A migration that takes long says so now and then, and not afterwards.
func TestStillMigratingIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		said := 0
		stop := everySo(stillMigrating, func() { said++ })
		<-time.After(stillMigrating*3 + time.Second)
		stop()
		<-time.After(stillMigrating * 5)
		if said != 3 {
			t.Errorf("said %d times in %s", said, stillMigrating*3)
		}
	})
}
