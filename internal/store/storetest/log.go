package storetest

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"paddock/internal/event"
	"paddock/internal/id"
	"paddock/internal/session"
	"paddock/internal/store"
)

// logProperty: whatever the order in which updates append to some sessions,
// fail, and whatever the clock does meanwhile, each history is gapless, sorted
// and monotone, holds exactly what was committed, and reads the same in pages
// of any size, forwards and backwards, of all runs or one.
func logProperty(t *testing.T, open func(t *testing.T) store.Store) {
	f := newFixture(t, open(t))
	round := 0
	rapid.Check(t, func(r *rapid.T) {
		round++
		logs := make([]*knownLog, rapid.IntRange(1, 3).Draw(r, "sessions"))
		for i := range logs {
			logs[i] = &knownLog{f: f, session: f.created(fmt.Sprintf("r%d-%d", round, i)).ID, runs: []id.Run{{}, id.New[id.Run](), id.New[id.Run]()}}
		}
		clock := start
		for range rapid.IntRange(1, 12).Draw(r, "updates") {
			clock = clock.Add(time.Duration(rapid.IntRange(-5000, 5000).Draw(r, "clock step, µs")) * time.Microsecond)
			fails := rapid.IntRange(0, 4).Draw(r, "fails") == 0
			var undo []func()
			err := f.store.Update(f.ctx, func(tx store.Tx) error {
				for range rapid.IntRange(1, 3).Draw(r, "appends") {
					l := rapid.SampledFrom(logs).Draw(r, "session")
					undo = append(undo, l.append(r, tx, clock))
				}
				if fails {
					return errMine
				}
				return nil
			})
			if fails {
				f.fails(err, errMine)
				for i := len(undo) - 1; i >= 0; i-- {
					undo[i]()
				}
				continue
			}
			f.ok(err)
		}
		for _, l := range logs {
			l.check(r)
		}
	})
}

// knownLog is what a session's history has to be.
type knownLog struct {
	f       *fixture
	session id.Session
	runs    []id.Run
	events  []event.Event
}

// append appends some events and gives the function that forgets them.
func (l *knownLog) append(r *rapid.T, tx store.Tx, at time.Time) (forget func()) {
	before := l.events
	drafts := make([]event.Draft, rapid.IntRange(0, 4).Draw(r, "events"))
	for i := range drafts {
		drafts[i] = event.Draft{
			Run: rapid.SampledFrom(l.runs).Draw(r, "run"), Kind: rapid.SampledFrom(event.Kinds).Draw(r, "kind"),
			Data:      json.RawMessage(fmt.Sprintf(`{"n":%d}`, len(before)+i)),
			SourceRaw: rapid.SampledFrom([][]byte{nil, []byte("raw"), {0, 255, 0}}).Draw(r, "raw"),
		}
	}
	made, err := tx.Append(l.session, at, drafts...)
	l.f.ok(err)
	same(l.f, len(made), len(drafts))
	l.events = append(before[:len(before):len(before)], made...)
	return func() { l.events = before }
}

func (l *knownLog) check(r *rapid.T) {
	f := l.f
	if err := CheckLog(f.stored(l.session), l.events); err != nil {
		r.Fatal(err)
	}
	size := rapid.IntRange(1, 7).Draw(r, "page size")
	for _, run := range l.runs {
		want := []event.Event{}
		for _, e := range l.events {
			if run.IsZero() || e.Run == run {
				want = append(want, e)
			}
		}
		same(f, l.forwards(size, run), want)
		same(f, l.backwards(size, run), want)
		same(f, f.events(l.session, store.EventPage{Run: run, Raw: true}), want)
	}
}

func (l *knownLog) forwards(size int, run id.Run) []event.Event {
	list := []event.Event{}
	for after := int64(0); ; {
		page := l.f.events(l.session, store.EventPage{After: after, Limit: size, Run: run, Raw: true})
		if len(page) == 0 {
			return list
		}
		list = append(list, page...)
		after = page[len(page)-1].Seq
	}
}

func (l *knownLog) backwards(size int, run id.Run) []event.Event {
	list := []event.Event{}
	for before := int64(1 << 40); ; {
		page := l.f.events(l.session, store.EventPage{Before: before, Limit: size, Run: run, Raw: true})
		if len(page) == 0 {
			return list
		}
		list = append(page, list...)
		before = page[0].Seq
	}
}

// checkLog checks what must hold of every whole history.
func checkLog(f *fixture, s session.Session, events []event.Event) {
	f.Helper()
	if err := CheckLog(s, events); err != nil {
		f.Fatal(err)
	}
}

// CheckLog says what is wrong with the whole history of a session that began
// with seq 1: a gap, ids or times out of order, an end that the session's row
// does not know. Crash tests of implementations use it too.
func CheckLog(s session.Session, events []event.Event) error {
	for i, e := range events {
		if e.Seq != int64(i+1) {
			return fmt.Errorf("event %d has seq %d", i+1, e.Seq)
		}
		if e.Session != s.ID {
			return fmt.Errorf("event %d belongs to %s", e.Seq, e.Session)
		}
		if i == 0 {
			continue
		}
		if before := events[i-1]; e.ID.String() <= before.ID.String() {
			return fmt.Errorf("id of event %d does not sort behind its forerunner: %s, %s", e.Seq, before.ID, e.ID)
		} else if e.At.Before(before.At) {
			return fmt.Errorf("time of event %d runs backwards: %v, %v", e.Seq, before.At, e.At)
		}
	}
	if s.LastSeq != int64(len(events)) {
		return fmt.Errorf("session says last seq %d, history has %d events", s.LastSeq, len(events))
	}
	if n := len(events); n > 0 && !s.LastEventAt.Equal(events[n-1].At) {
		return fmt.Errorf("session says last event at %v, the last event is of %v", s.LastEventAt, events[n-1].At)
	}
	return nil
}
