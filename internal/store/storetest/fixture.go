package storetest

import (
	"context"
	"encoding/json"
	"errors"
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

// start is the moment at which the tests' clock stands. It has microseconds,
// the precision that a store keeps.
var start = time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC)

// fixture is an empty store with one team, and short ways to fill it.
type fixture struct {
	*testing.T
	store store.Store
	ctx   context.Context
	team  id.Team
}

func newFixture(t *testing.T, s store.Store) *fixture {
	f := &fixture{T: t, store: s, ctx: t.Context()}
	f.team = f.newTeam("default")
	return f
}

// update runs fn in an Update that has to succeed.
func (f *fixture) update(fn func(tx store.Tx) error) {
	f.Helper()
	if err := f.store.Update(f.ctx, fn); err != nil {
		f.Fatalf("update: %v", err)
	}
}

func (f *fixture) newTeam(name string) id.Team {
	f.Helper()
	var made team.Team
	f.update(func(tx store.Tx) (err error) {
		made, err = tx.EnsureTeam(name, id.New[id.Team](), start)
		return err
	})
	return made.ID
}

// session is a session of the fixture's team that has not been created yet,
// every field but Environment set to something of its own.
func (f *fixture) session(name string) session.Session {
	return session.Session{
		ID: id.New[id.Session](), Team: f.team, Name: name, Adapter: "demo", State: session.Provisioning, Generation: 1,
		IdleTimeout: 15 * time.Minute, KeepWarm: true, ResumeOnTopoff: true, OpenAISession: "oai", CreatedAt: start,
		ActiveAt: start.Add(time.Second), Deadline: start.Add(2 * time.Minute), Memory: "kept",
		Template: id.New[id.Template](), Image: "sha256:of-its-own",
	}
}

// created creates a session of this name.
func (f *fixture) created(name string) session.Session {
	f.Helper()
	s := f.session(name)
	f.update(func(tx store.Tx) error { return tx.CreateSession(s, 0) })
	return s
}

// moved stores the session in another state.
func (f *fixture) moved(s session.Session, to session.State) session.Session {
	f.Helper()
	s.State = to
	f.update(func(tx store.Tx) error { return tx.UpdateSession(&s) })
	return s
}

func (f *fixture) run(s id.Session, text string) session.Run {
	return session.Run{ID: id.New[id.Run](), Session: s, Text: text, State: session.RunQueued, CreatedAt: start}
}

// saved saves a new queued run.
func (f *fixture) saved(s id.Session, text string) session.Run {
	f.Helper()
	r := f.run(s, text)
	f.update(func(tx store.Tx) error { return tx.SaveRun(r) })
	return r
}

func (f *fixture) approval(r session.Run, state approval.State) approval.Approval {
	deadline := start.Add(24 * time.Hour)
	return approval.Approval{
		ID: id.New[id.Approval](), Team: f.team, Session: r.Session, Run: r.ID, Key: "k1", State: state, At: start, Deadline: deadline,
		Asked: event.Asked{
			HITLID: "hitl", Action: event.ActionBash, Deadline: &deadline, Payload: json.RawMessage(`{"a":1}`),
			Details: event.AskDetails{Command: "rm -rf /", Schema: json.RawMessage(`{"type":"object"}`)},
		},
	}
}

func (f *fixture) environment(name string) environment.Environment {
	return environment.Environment{
		ID: id.New[id.Environment](), Team: f.team, Name: name, Source: "agent: demo # ünïcode\n", ContentHash: "hash", CreatedBy: "laptop", CreatedAt: start, Sealed: []byte{0, 255},
		Spec: environment.Spec{
			Agent: "custom", Command: []string{"a", "b"}, Size: "small", IdleTimeout: time.Minute, KeepWarm: true,
			Env: map[string]string{"A": "012"}, Template: "host", Permissions: environment.Permissions{Default: "ask"}, MaxRunTime: time.Hour,
		},
	}
}

// appended appends events whose payloads count from 1.
func (f *fixture) appended(s id.Session, at time.Time, n int) []event.Event {
	f.Helper()
	drafts := make([]event.Draft, n)
	for i := range drafts {
		drafts[i] = event.NewDraft(id.Run{}, event.TokenDelta, event.Delta{Text: "x"})
	}
	var events []event.Event
	f.update(func(tx store.Tx) (err error) {
		events, err = tx.Append(s, at, drafts...)
		return err
	})
	return events
}

// events reads a piece of a history.
func (f *fixture) events(s id.Session, page store.EventPage) []event.Event {
	f.Helper()
	list, err := f.store.Events(f.ctx, s, page)
	f.ok(err)
	return list
}

// stored reads a session by its id.
func (f *fixture) stored(s id.Session) session.Session {
	f.Helper()
	found, err := f.store.SessionByID(f.ctx, s)
	f.ok(err)
	return found
}

func (f *fixture) ok(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// fails checks that err wraps want.
func (f *fixture) fails(err, want error) {
	f.Helper()
	if !errors.Is(err, want) {
		f.Fatalf("error is %v, want %v", err, want)
	}
}

// same compares two values, ids and times included.
func same[T any](f *fixture, got, want T) {
	f.Helper()
	if diff := cmp.Diff(want, got, cmp.Exporter(exported), cmp.Comparer(time.Time.Equal)); diff != "" {
		f.Fatalf("unexpected value (-want +got):\n%s", diff)
	}
}
