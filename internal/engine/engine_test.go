package engine

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"paddock/internal/event"
	"paddock/internal/fault"
	"paddock/internal/id"
	"paddock/internal/notify"
	"paddock/internal/recovery"
	"paddock/internal/session"
	"paddock/internal/store"
	"paddock/internal/store/sqlstore"
	"paddock/internal/vault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// house is an engine with its store and driver, which may be stopped and started
// again as a server is.
type house struct {
	*Engine
	t      *testing.T
	dir    string
	driver *stubDriver
	store  *sqlstore.Store
	team   id.Team
	pool   int                  // most spares
	free   func() (Room, error) // of the host; nil: nobody knows
	room   int64                // for a session's history; 0: no limit
	keep   time.Duration        // what was destroyed; 0: for ever
	points bool                 // files are saved
	notify []notify.Channel
	output io.Writer // of the engine; nil: nowhere
	haste  bool      // what fails is tried again at once, also after a restart

	mu    sync.Mutex
	clock time.Time // zero: the real one
}

func newHouse(t *testing.T) *house { return newHouseWith(t, func(*house) {}) }

// newHouseWith is a house that is set up before its engine starts.
func newHouseWith(t *testing.T, set func(*house)) *house {
	h := &house{t: t, dir: t.TempDir(), driver: newStubDriver(t)}
	set(h)
	h.start()
	t.Cleanup(func() { h.stop() })
	return h
}

func (h *house) start() {
	h.t.Helper()
	ctx := context.Background()
	log := slog.New(slog.DiscardHandler)
	if h.output != nil {
		log = slog.New(slog.NewTextHandler(h.output, nil))
	}
	st, err := sqlstore.Open(ctx, filepath.Join(h.dir, "paddock.db"), log)
	if err != nil {
		h.t.Fatal(err)
	}
	h.store = st
	var points *recovery.Points
	if h.points {
		if points, err = recovery.Open(filepath.Join(h.dir, "recovery")); err != nil {
			h.t.Fatal(err)
		}
	}
	key := filepath.Join(h.dir, "secrets.key")
	secrets, err := vault.Open(key)
	if errors.Is(err, fs.ErrNotExist) {
		secrets, err = vault.Create(key)
	}
	if err != nil {
		h.t.Fatal(err)
	}
	h.Engine = New(Options{Vault: secrets, Points: points, SaveEvery: time.Minute, Store: st, Driver: h.driver, Logger: log, MaxActiveSessions: 5, Now: h.now, Notify: h.notify, Pool: h.pool, Free: h.free, Reserve: Room{Memory: 512 << 20, Disk: 1 << 30}, HistoryLimit: h.room, HistoryRetention: h.keep})
	if h.haste {
		h.Engine.tries = tries{limit: 50 * time.Millisecond, first: time.Millisecond, most: 10 * time.Millisecond}
	}
	if err := h.EnsureToken(ctx, "secret", "test"); err != nil {
		h.t.Fatal(err)
	}
	tok, err := h.Authenticate(ctx, "secret")
	if err != nil {
		h.t.Fatal(err)
	}
	h.team = tok.Team
	if err := h.Start(ctx); err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) stop() {
	h.Engine.Stop()
	if err := h.store.Close(); err != nil {
		h.t.Error(err)
	}
}

// kill ends the engine as a crash would: what it would do at its end is not done.
func (h *house) kill() {
	h.Engine.cancel()
	h.stop()
}

func (h *house) now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.clock.IsZero() {
		return time.Now()
	}
	return h.clock
}

// setClock stops the clock at a moment.
func (h *house) setClock(at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.clock = at
}

func (h *house) create(spec string) View {
	h.t.Helper()
	v, _, err := h.CreateSession(context.Background(), h.team, CreateRequest{Spec: []byte(spec)})
	if err != nil {
		h.t.Fatal(err)
	}
	h.waitState(v.ID, session.Ready)
	return v
}

// working makes a session whose agent works on the run "one".
func (h *house) working(spec string) (View, *stubMachine, id.Run) {
	h.t.Helper()
	v := h.create(spec)
	m := h.driver.only(h.t)
	run := h.input(v, "one")
	<-m.guest.prompts
	return v, m, run
}

func (h *house) waitState(sid id.Session, want session.State) session.Session {
	h.t.Helper()
	var s session.Session
	eventually(h.t, sid.String()+" is "+string(want), func() bool {
		var err error
		if s, err = h.store.SessionByID(context.Background(), sid); err != nil {
			h.t.Fatal(err)
		}
		return s.State == want
	})
	return s
}

func (h *house) input(v View, text string) id.Run {
	h.t.Helper()
	run, err := h.Input(context.Background(), h.team, v.ID.String(), Input{Text: text})
	if err != nil {
		h.t.Fatal(err)
	}
	return run
}

func (h *house) waitRun(v View, run id.Run, want session.RunState) session.Run {
	h.t.Helper()
	var r session.Run
	eventually(h.t, "the run is "+string(want), func() bool {
		var err error
		if r, err = h.store.Run(context.Background(), v.ID, run); err != nil {
			h.t.Fatal(err)
		}
		return r.State == want
	})
	return r
}

func (h *house) history(v View) []event.Event {
	h.t.Helper()
	events, err := h.store.Events(context.Background(), v.ID, store.EventPage{})
	if err != nil {
		h.t.Fatal(err)
	}
	return events
}

func kinds(events []event.Event, run id.Run) []event.Kind {
	var out []event.Kind
	for _, e := range events {
		if e.Run == run {
			out = append(out, e.Kind)
		}
	}
	return out
}

func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("not within 20 s: %s", what)
		}
	}
}

func wantFault(t *testing.T, err error, code fault.Code, part string) {
	t.Helper()
	if !fault.Is(err, code) || !strings.Contains(err.Error(), part) {
		t.Fatalf("got %v, want %s with %q", err, code, part)
	}
}
