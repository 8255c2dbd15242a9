package counted_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"paddock/internal/event"
	"paddock/internal/id"
	"paddock/internal/metrics"
	"paddock/internal/session"
	"paddock/internal/store"
	"paddock/internal/store/counted"
	"paddock/internal/store/sqlstore"
	"paddock/internal/store/storetest"
)

// The store behind is a store still, and whatever the suite did to it, what was
// counted is what is there.
func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store {
		s, m := open(t, filepath.Join(t.TempDir(), "s.db"))
		t.Cleanup(func() {
			if strings.Contains(t.Name(), "/retention/") || strings.Contains(t.Name(), "Close") {
				return // sessions are destroyed there whose runs have not ended; there is nothing to ask any more
			}
			agrees(t, s, m)
		})
		return s
	})
}

func open(t *testing.T, path string) (*counted.Store, *metrics.Metrics) {
	t.Helper()
	behind, err := sqlstore.Open(t.Context(), path, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = behind.Close() })
	m := metrics.New("test")
	s, err := counted.New(t.Context(), behind, m)
	if err != nil {
		t.Fatal(err)
	}
	return s, m
}

// agrees holds the metrics against a census.
func agrees(t *testing.T, s store.Store, m *metrics.Metrics) {
	t.Helper()
	now, err := s.Census(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, state := range session.States {
		if name := fmt.Sprintf("paddock_sessions{state=%q}", state); state != session.Destroyed && value(t, m, name) != now.Sessions[state] {
			t.Errorf("%s is %d, and %d are there", name, value(t, m, name), now.Sessions[state])
		}
	}
	for _, state := range session.RunStates {
		if name := fmt.Sprintf("paddock_runs{state=%q}", state); !state.Ended() && value(t, m, name) != now.Runs[state] {
			t.Errorf("%s is %d, and %d are there", name, value(t, m, name), now.Runs[state])
		}
	}
}

// value reads one line of the metrics.
func value(t *testing.T, m *metrics.Metrics, name string) int {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler(slog.New(slog.DiscardHandler)).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for line := range strings.Lines(w.Body.String()) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(rest), 64)
			if err != nil {
				t.Fatal(err)
			}
			return int(n)
		}
	}
	t.Fatalf("there is no %s in\n%s", name, w.Body)
	return 0
}

// What is refused or undone is not counted, and what a server finds at its start
// is.
func TestCountsWhatIsDurable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	s, m := open(t, path)
	made := create(t, s, "a")
	r := session.Run{ID: id.New[id.Run](), Session: made.ID, State: session.RunQueued, CreatedAt: time.Now()}
	save := func(tx store.Tx, state session.RunState) error {
		r.State = state
		return tx.SaveRun(r)
	}
	undone := errors.New("undone")
	err := s.Update(t.Context(), func(tx store.Tx) error {
		own, err := tx.SessionByID(t.Context(), made.ID)
		if err != nil {
			return err
		}
		own.State = session.Ready
		if _, err := tx.Append(made.ID, time.Now(), event.NewDraft(r.ID, event.RunLog, event.Log{})); err != nil {
			return err
		}
		return errors.Join(tx.UpdateSession(&own), save(tx, session.RunQueued), undone)
	})
	if !errors.Is(err, undone) {
		t.Fatal(err)
	}
	agrees(t, s, m)
	var together sync.WaitGroup
	for _, state := range []session.RunState{session.RunQueued, session.RunRunning, session.RunCompleted} {
		if err := s.Update(t.Context(), func(tx store.Tx) error { return save(tx, state) }); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 20 {
		together.Go(func() { create(t, s, fmt.Sprintf("n%d", i)) })
	}
	together.Wait()
	agrees(t, s, m)
	for name, want := range map[string]int{
		`paddock_runs_ended_total{outcome="completed"}`: 1, `paddock_runs{state="running"}`: 0,
		`paddock_events_total{kind="run.log"}`: 0, `paddock_events_total{kind="session.updated"}`: 21, `paddock_sessions{state="provisioning"}`: 21,
	} {
		if got := value(t, m, name); got != want {
			t.Errorf("%s is %d, not %d", name, got, want)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again, fresh := open(t, path)
	agrees(t, again, fresh)
	if got := value(t, fresh, `paddock_sessions{state="provisioning"}`); got != 21 {
		t.Errorf("the next server counts %d sessions", got)
	}
}

func create(t *testing.T, s store.Store, name string) session.Session {
	t.Helper()
	now := time.Now()
	made := session.Session{ID: id.New[id.Session](), Name: name, Adapter: "demo", State: session.Provisioning, CreatedAt: now}
	err := s.Update(t.Context(), func(tx store.Tx) error {
		team, err := tx.EnsureTeam("t", id.New[id.Team](), now)
		if err != nil {
			return err
		}
		made.Team = team.ID
		if err := tx.CreateSession(made, 0); err != nil {
			return err
		}
		_, err = tx.Append(made.ID, now, event.NewDraft(id.Run{}, event.SessionUpdated, event.SessionState{}))
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return made
}
