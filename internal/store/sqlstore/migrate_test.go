package sqlstore

import (
	"database/sql"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"paddock/internal/approval"
	"paddock/internal/environment"
	"paddock/internal/event"
	"paddock/internal/id"
	"paddock/internal/session"
	"paddock/internal/store"
	"paddock/internal/team"
)

// TestMigrate fills a database at each old schema with testdata/schema/NNNN.sql,
// which sets every column, brings it to the newest and reads it back. A new
// migration that adds columns adds a file of its own number too.
func TestMigrate(t *testing.T) {
	files, err := filepath.Glob("testdata/schema/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatal("no data of old schemas", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			var version int64
			if _, err := fmt.Sscanf(filepath.Base(file), "%d.sql", &version); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), databaseName)
			withDatabase(t, path, func(db *sql.DB) {
				provider, err := newProvider(db, sqliteDialect)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := provider.UpTo(t.Context(), version); err != nil {
					t.Fatal(err)
				}
				data, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := db.ExecContext(t.Context(), string(data)); err != nil {
					t.Fatal(err)
				}
			})
			s := open(t, path)
			checkIntegrity(t, s)
			checkOldData(t, s, version)
			if version >= 2 {
				checkOldReceipt(t, s)
			}
		})
	}
}

// TestNewerSchemaIsRefused opens a database that a later version has migrated.
func TestNewerSchemaIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), databaseName)
	if err := open(t, path).Close(); err != nil {
		t.Fatal(err)
	}
	withDatabase(t, path, func(db *sql.DB) {
		if _, err := db.ExecContext(t.Context(), "INSERT INTO schema_versions (version_id, is_applied) VALUES (9999, 1)"); err != nil {
			t.Fatal(err)
		}
	})
	_, err := Open(t.Context(), path, slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), "start the newer version") {
		t.Errorf("error is %v", err)
	}
}

// TestMigrationNames checks that migrations are NNNN_name.sql, numbered without
// gaps, and go up only.
func TestMigrationNames(t *testing.T) {
	files, err := fs.Glob(migrations, sqliteDialect.migrations+"/*")
	if err != nil {
		t.Fatal(err)
	}
	for i, file := range files {
		var number int
		var name string
		if _, err := fmt.Sscanf(filepath.Base(file), "%04d_%s", &number, &name); err != nil || number != i+1 || !strings.HasSuffix(name, ".sql") {
			t.Errorf("migration %d is named %s", i+1, file)
		}
		text, err := fs.ReadFile(migrations, file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "+goose Down") {
			t.Errorf("%s goes down", file)
		}
	}
}

func withDatabase(t *testing.T, path string, fn func(db *sql.DB)) {
	t.Helper()
	write, read, err := connectSQLite(path)
	if err != nil {
		t.Fatal(err)
	}
	fn(write)
	if err := read.Close(); err != nil {
		t.Fatal(err)
	}
	if err := write.Close(); err != nil {
		t.Fatal(err)
	}
}

const oldID = "_01h455vb4pex5vsknk084sn02q"

func parsed[T id.ID[K], K id.Kind](t *testing.T, text string) T {
	t.Helper()
	v, err := id.Parse[T, K](text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// checkOldData compares what the files of testdata/schema hold, one by one.
func checkOldData(t *testing.T, s *Store, version int64) {
	at := func(us int64) time.Time { return time.UnixMicro(1_700_000_000_000_000 + us) }
	own, run := parsed[id.Session](t, "sess"+oldID), parsed[id.Run](t, "run"+oldID)
	env, tm, box := parsed[id.Environment](t, "env"+oldID), parsed[id.Team](t, "team"+oldID), parsed[id.Sandbox](t, "sbx"+oldID)
	ctx := t.Context()

	used := session.Usage{TokensIn: 1, TokensOut: 2, CostMicros: 3} // of its only run
	if version >= 7 {
		used = session.Usage{TokensIn: 20, TokensOut: 30, CostMicros: 40}
	}
	want := session.Session{
		ID: own, Team: tm, Name: "Old", Environment: env, Adapter: "demo", State: session.Paused, Generation: 12,
		PauseReason: session.PauseIdle, PausePending: session.PauseManual, Reason: "why", Terminal: "over",
		IdleTimeout: 15 * time.Minute, KeepWarm: true, ResumeOnTopoff: true, OpenAISession: "oai",
		CreatedAt: at(4), LastEventAt: at(8), ActiveAt: at(5), Deadline: at(6), EndedAt: at(7), LastSeq: 2, History: 47, Sandbox: box, Memory: "kept", Usage: used,
	}
	if version >= 11 {
		want.RestoredTo = at(20)
	}
	if version >= 18 {
		want.AdapterVersion = "1.2.3"
	}
	if version >= 19 {
		want.Template, want.Image = parsed[id.Template](t, "tmpl"+oldID), "sha256:abc"
		gotTemplate, err := s.Template(ctx, want.Template)
		same(t, err, gotTemplate, store.Template{ID: want.Template, Team: tm, Name: "tools", Source: "registry/x", Base: "base", State: store.TemplateReady,
			Digest: "sha256:abc", Reason: "once", CreatedBy: "laptop", CreatedAt: at(22), UpdatedAt: at(23)})
	}
	got, err := s.Session(ctx, tm, "old")
	same(t, err, got, want)
	gotEnv, err := s.Environment(ctx, env)
	wantEnv := environment.Environment{
		ID: env, Team: tm, Name: "old", Source: "agent: demo", CreatedAt: at(3),
		Spec: environment.Spec{
			Agent: "demo", Size: "small", IdleTimeout: 15 * time.Minute, Template: "host",
			Permissions: environment.Permissions{Default: "ask"}, MaxRunTime: 2 * time.Hour,
		},
	}
	if version >= 13 {
		wantEnv.ContentHash, wantEnv.CreatedBy, wantEnv.RemovedAt = "c0ffee", "laptop", at(21)
	}
	if version >= 18 {
		wantEnv.Sealed = []byte{0, 0xfe}
	}
	same(t, err, gotEnv, wantEnv)
	wantRun := session.Run{
		ID: run, Session: own, Text: "hello", SourceRaw: []byte{0, 255}, State: session.RunFailed,
		CreatedAt: at(9), StartedAt: at(10), EndedAt: at(11), Deadline: at(12), Usage: session.Usage{TokensIn: 1, TokensOut: 2, CostMicros: 3},
		StopReason: "refusal", Failure: &session.Failure{Code: event.SandboxLost, Message: "gone", Terminal: true},
	}
	if version >= 3 {
		wantRun.CancelAt, wantRun.CancelledBy, wantRun.AwaitingSince = at(18), "you", at(19)
	}
	if version >= 14 {
		wantRun.Trace = "trail"
	}
	gotRun, err := s.Run(ctx, own, run)
	same(t, err, gotRun, wantRun)
	wantApproval := approval.Approval{
		ID: parsed[id.Approval](t, "hitl"+oldID), Team: tm, Session: own, Run: run, Key: "k1", State: approval.Deferred, Actor: "me", Reason: "later",
		Asked: event.Asked{HITLID: "h", Action: event.ActionBash, Details: event.AskDetails{Command: "ls"}},
		At:    at(13), EndedAt: at(14), Deadline: at(15),
	}
	if version >= 6 {
		wantApproval.Input, wantApproval.Grant = []byte(`{"command":"id"}`), parsed[id.Grant](t, "grant"+oldID)
		gotGrants, err := s.Grants(ctx, own)
		same(t, err, gotGrants, []approval.Grant{{
			ID: wantApproval.Grant, Session: own, Approval: wantApproval.ID, Actor: "me", Reason: "fine", At: at(20),
			Match: approval.Match{Action: event.ActionBash, Tool: "bash", Input: []byte(`{"command":"ls"}`)},
		}})
	}
	gotApprovals, err := s.TeamApprovals(ctx, store.ApprovalFilter{Team: tm, Open: true})
	same(t, err, gotApprovals, []approval.Approval{wantApproval})
	gotMachine, err := s.Machine(ctx, own)
	wantMachine := store.Machine{Session: own, Sandbox: box, Handle: []byte("{}"), Epoch: 5, Ack: 6, CreatedAt: at(16)}
	if version >= 18 {
		wantMachine.Held = []byte{0, 0xfd}
	}
	same(t, err, gotMachine, wantMachine)
	gotToken, err := s.Token(ctx, "cafe")
	same(t, err, gotToken, team.Token{ID: parsed[id.Token](t, "tok"+oldID), Team: tm, Name: "first", Hash: "cafe", CreatedAt: at(2)})
	place := int64(1) // the order of the rows
	if version >= 4 {
		place = 11
	}
	var dropped, rawDropped int64
	if version >= 10 {
		dropped, rawDropped = 5, 7
	}
	gotEvents, err := s.TeamEvents(ctx, tm, store.EventPage{Raw: true})
	same(t, err, gotEvents, []event.Event{
		{ID: parsed[id.Event](t, "evt"+oldID), Session: own, Seq: 1, Place: place, At: at(8), Kind: event.SessionUpdated, Data: []byte(`{"status":"SESSION_STATUS_READY"}`), Dropped: dropped},
		{ID: parsed[id.Event](t, "evt_01h455vb4pex5vsknk084sn02r"), Session: own, Run: run, Seq: 2, Place: place + 1, At: at(8), Kind: event.TokenDelta,
			Data: []byte(`{"text":"x"}`), SourceType: "acp", SourceRaw: []byte{0, 255}, RawDropped: rawDropped},
	})
	err = s.Update(ctx, func(tx store.Tx) error {
		events, err := tx.Append(own, at(0), event.Draft{Kind: event.RunLog})
		if err == nil && (events[0].Seq != 3 || events[0].Place != place+2) {
			t.Errorf("goes on at %d, %d", events[0].Seq, events[0].Place)
		}
		return err
	})
	if err != nil {
		t.Errorf("go on with old data: %v", err)
	}
}

func checkOldReceipt(t *testing.T, s *Store) {
	tm := parsed[id.Team](t, "team"+oldID)
	got, err := s.Receipt(t.Context(), tm, "key")
	same(t, err, got, store.Receipt{
		Team: tm, Key: "key", Request: "digest", Exec: parsed[id.Exec](t, "exec"+oldID), CreatedAt: time.UnixMicro(1_700_000_000_000_017),
		Answer: &store.Answer{Status: 201, Header: map[string]string{"Location": "x"}, Body: []byte("{}")},
	})
}

func same[T any](t *testing.T, err error, got, want T) {
	t.Helper()
	if err != nil {
		t.Errorf("read %T: %v", want, err)
	} else if diff := cmp.Diff(want, got, cmp.Exporter(func(typ reflect.Type) bool {
		return strings.HasSuffix(typ.PkgPath(), "internal/id")
	}), cmp.Comparer(time.Time.Equal)); diff != "" {
		t.Errorf("%T (-want +got):\n%s", want, diff)
	}
}
