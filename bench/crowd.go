package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"syscall"
	"time"

	"paddock/client"
	"paddock/internal/environment"
	"paddock/internal/event"
	"paddock/internal/id"
	"paddock/internal/session"
	"paddock/internal/store"
	"paddock/internal/store/sqlstore"
	"paddock/internal/team"
)

// A crowd is what a server has stored that has been in use for long.
const (
	crowdSessions = 10_000
	crowdSlower   = 2.0 // no call may take so many times as long as without one
	crowdBatch    = 20  // sessions that are stored in one transaction
)

// measureCrowd measures calls of a server with a crowd in its store beside those
// of one without, taking turns.
func measureCrowd(ctx context.Context, s *server, o options, out io.Writer) (err error) {
	crowded, err := newServer(ctx, s.options, "--pool", "0")
	if err != nil {
		return err
	}
	defer func() {
		if e := crowded.stop(); err == nil {
			err = e
		}
	}()
	say("storing %d sessions with %d events", crowdSessions, o.events)
	if err := crowded.fill(ctx, o.events/crowdSessions); err != nil {
		return fmt.Errorf("store a crowd: %w", err)
	}
	var alone, among table
	for _, side := range []struct {
		server *server
		table  *table
	}{{s, &alone}, {crowded, &among}} {
		for range 10 {
			if err := side.server.callAround(ctx, &table{}); err != nil { // the ten sessions that there are besides
				return err
			}
		}
	}
	say("calling both, %d times", o.n)
	for range o.n {
		if err := s.callAround(ctx, &alone); err != nil {
			return err
		}
		if err := crowded.callAround(ctx, &among); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "\n%d sessions with %d events stored, medians in ms of %d   with ten   with them   ratio (aim ≤ %.0f)\n", crowdSessions, o.events, o.n, crowdSlower)
	for i, row := range alone.rows {
		few, many := row.quantile(0.5), among.rows[i].quantile(0.5)
		fmt.Fprintf(out, "  %-40s %10s %10s   %.2f\n", row.name, ms(few), ms(many), float64(many)/float64(few))
	}
	return nil
}

// fill stops the server, puts the crowd into its store, and starts it again.
func (s *server) fill(ctx context.Context, events int) error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	<-s.done
	st, err := sqlstore.Open(ctx, filepath.Join(s.dataDir(), "paddock.db"), slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	parsed, _, err := environment.Parse([]byte(spec), session.CheckName)
	if err != nil {
		_ = st.Close()
		return err
	}
	for n := 0; n < crowdSessions; n += crowdBatch {
		err := st.Update(ctx, func(tx store.Tx) error {
			for i := range crowdBatch {
				if err := storeOne(tx, parsed, n+i, events); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			_ = st.Close()
			return err
		}
	}
	if err := st.Close(); err != nil {
		return err
	}
	return s.start(ctx)
}

// storeOne stores a session that was used and removed.
func storeOne(tx store.Tx, parsed environment.Spec, n, events int) error {
	now := time.Now()
	own, err := tx.EnsureTeam(team.DefaultName, id.New[id.Team](), now)
	if err != nil {
		return err
	}
	env := environment.Environment{ID: id.New[id.Environment](), Team: own.ID, Name: fmt.Sprintf("used-%d", n), Source: spec, Spec: parsed, CreatedAt: now}
	if err := tx.SaveEnvironment(env); err != nil {
		return err
	}
	s := session.Session{
		ID: id.New[id.Session](), Team: own.ID, Name: env.Name, Environment: env.ID, Adapter: "demo", State: session.Destroyed,
		IdleTimeout: 15 * time.Minute, CreatedAt: now, LastEventAt: now, ActiveAt: now, EndedAt: now, Memory: "kept",
	}
	if err := tx.CreateSession(s, 0); err != nil {
		return err
	}
	run := session.Run{ID: id.New[id.Run](), Session: s.ID, Text: "hello", State: session.RunCompleted, CreatedAt: now, StartedAt: now, EndedAt: now}
	if err := tx.SaveRun(run); err != nil {
		return err
	}
	drafts := make([]event.Draft, events)
	for i := range drafts {
		drafts[i] = event.NewDraft(run.ID, event.TokenDelta, event.Delta{Text: fmt.Sprintf("word %d of what the agent of session %d said, at some length", i, n)})
	}
	_, err = tx.Append(s.ID, now, drafts...)
	return err
}

// callAround makes a session, calls everything that people call often, and
// removes it.
func (s *server) callAround(ctx context.Context, t *table) error {
	var id, name, run string
	for _, call := range []struct {
		what string
		do   func() error
	}{
		{"create → ready (cold)", func() error {
			sess, err := s.api.CreateSession(ctx, []byte(spec), client.CreateOptions{})
			if err != nil {
				return err
			}
			id, name = sess.SessionID, sess.Name
			return s.waitReady(ctx, id)
		}},
		{"list", func() error { _, err := s.api.Sessions(ctx, client.ListOptions{}); return err }},
		{"show, by id", func() error { _, err := s.api.Session(ctx, id); return err }},
		{"show, by name", func() error { _, err := s.api.Session(ctx, name); return err }},
		{"exec /bin/true", func() error { return s.execTrue(ctx, id) }},
		{"input → end of the run", func() (err error) {
			if run, err = s.api.Input(ctx, id, "hello"); err != nil {
				return err
			}
			_, err = s.drain(ctx, id, client.EventsOptions{Run: run})
			return err
		}},
		{"history of a session", func() error {
			_, err := s.drain(ctx, id, client.EventsOptions{ReplayOnly: true})
			return err
		}},
		{"runs of a session", func() error { _, err := s.api.Runs(ctx, id, 50, ""); return err }},
		{"pause", func() error { _, err := s.api.Pause(ctx, id); return err }},
		{"resume", func() error { return s.api.Resume(ctx, id) }},
		{"remove → destroyed", func() error { return s.remove(ctx, id) }},
	} {
		took, err := timed(call.do)
		if err != nil {
			return fmt.Errorf("%s: %w", call.what, err)
		}
		t.add(call.what, 0, took)
	}
	return nil
}
