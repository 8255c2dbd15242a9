package sqlstore

import (
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"paddock/internal/event"
	"paddock/internal/id"
	"paddock/internal/session"
	"paddock/internal/store"
)

// The numbers of this disk:
//
//	go test -run '^$' -bench . -benchtime 3s ./internal/store/sqlstore
//
// BenchmarkUpdate is one caller after the other, each with its own commit:
// p50-µs and p99-µs are the wait for the disk. BenchmarkAppend is group commit:
// sessions append at once, each some events per update.

func BenchmarkUpdate(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "s.db"))
	session := benchSessions(b, s, 1)[0]
	drafts := benchDrafts(1)
	var waits []time.Duration
	for b.Loop() {
		begun := time.Now()
		if err := appendDrafts(b, s, session, drafts); err != nil {
			b.Fatal(err)
		}
		waits = append(waits, time.Since(begun))
	}
	reportWaits(b, waits)
}

func BenchmarkAppend(b *testing.B) {
	for _, shape := range []struct{ sessions, batch int }{{1, 20}, {16, 1}, {64, 1}, {16, 20}, {64, 20}} {
		b.Run(fmt.Sprintf("sessions=%d/batch=%d", shape.sessions, shape.batch), func(b *testing.B) {
			s := open(b, filepath.Join(b.TempDir(), "s.db"))
			sessions := benchSessions(b, s, shape.sessions)
			drafts := benchDrafts(shape.batch)
			waits := make([][]time.Duration, len(sessions))
			b.ResetTimer()
			var writing sync.WaitGroup
			for i, session := range sessions {
				writing.Go(func() {
					for n := i; n < b.N; n += len(sessions) {
						begun := time.Now()
						if err := appendDrafts(b, s, session, drafts); err != nil {
							b.Error(err)
							return
						}
						waits[i] = append(waits[i], time.Since(begun))
					}
				})
			}
			writing.Wait()
			b.ReportMetric(float64(b.N*shape.batch)/b.Elapsed().Seconds(), "events/s")
			reportWaits(b, slices.Concat(waits...))
		})
	}
}

// BenchmarkTrim is BenchmarkAppend with 20 events of one session whose history is
// full: each append drops as much of the past.
func BenchmarkTrim(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "s.db"))
	session := benchSessions(b, s, 1)[0]
	drafts := make([]event.Draft, 20)
	for i := range drafts {
		drafts[i] = event.NewDraft(id.Run{}, event.ToolCallCompleted, event.ToolCompleted{Summary: fmt.Sprintf("%1000d", i)})
		drafts[i].SourceRaw = make([]byte, 1000)
	}
	const limit = 4 << 20
	var waits []time.Duration
	for b.Loop() {
		begun := time.Now()
		err := s.Update(b.Context(), func(tx store.Tx) error {
			if _, err := tx.Append(session, time.Now(), drafts...); err != nil {
				return err
			}
			return tx.TrimHistory(session, limit, 100)
		})
		if err != nil {
			b.Fatal(err)
		}
		waits = append(waits, time.Since(begun))
	}
	reportWaits(b, waits)
}

// BenchmarkEvents reads a page of 100 from the middle of a history.
func BenchmarkEvents(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "s.db"))
	session := benchSessions(b, s, 1)[0]
	for range 100 {
		if err := appendDrafts(b, s, session, benchDrafts(100)); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		events, err := s.Events(b.Context(), session, store.EventPage{After: 5000, Limit: 100})
		if err != nil || len(events) != 100 {
			b.Fatal(len(events), err)
		}
	}
}

func benchSessions(b testing.TB, s *Store, n int) []id.Session {
	ids := make([]id.Session, n)
	err := s.Update(b.Context(), func(tx store.Tx) error {
		team, err := tx.EnsureTeam("bench", id.New[id.Team](), time.Now())
		for i := range ids {
			if err != nil {
				return err
			}
			ids[i] = id.New[id.Session]()
			err = tx.CreateSession(session.Session{ID: ids[i], Team: team.ID, Name: fmt.Sprint("s", i), State: session.Ready}, 0)
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return ids
}

// benchDrafts are token deltas of an ordinary size, about 120 bytes.
func benchDrafts(n int) []event.Draft {
	run := id.New[id.Run]()
	drafts := make([]event.Draft, n)
	for i := range drafts {
		drafts[i] = event.NewDraft(run, event.TokenDelta, event.Delta{Text: fmt.Sprintf("%100d", i)})
	}
	return drafts
}

func appendDrafts(b *testing.B, s *Store, session id.Session, drafts []event.Draft) error {
	return s.Update(b.Context(), func(tx store.Tx) error {
		_, err := tx.Append(session, time.Now(), drafts...)
		return err
	})
}

func reportWaits(b *testing.B, waits []time.Duration) {
	if len(waits) == 0 {
		return
	}
	slices.Sort(waits)
	b.ReportMetric(float64(waits[len(waits)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(waits[len(waits)*99/100].Microseconds()), "p99-µs")
}
