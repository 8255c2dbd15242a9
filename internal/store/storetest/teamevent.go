package storetest

import (
	"fmt"
	"sync"
	"time"

	"paddock/internal/event"
	"paddock/internal/id"
	"paddock/internal/store"
)

var teamEventCases = []testCase{
	{"a team's history has the events of all its sessions in order of commit", func(f *fixture) {
		a, b := f.created("a"), f.created("b")
		other := f.session("a")
		other.Team = f.newTeam("other")
		f.update(func(tx store.Tx) error { return tx.CreateSession(other, 0) })
		var want []event.Event
		for i := range 4 { // the clock steps back each time
			at := start.Add(-time.Duration(i) * time.Hour)
			want = append(want, f.appended(b.ID, at, 2)...)
			f.appended(other.ID, at, 3)
			want = append(want, f.appended(a.ID, at, 1)...)
		}
		same(f, f.teamEvents(store.EventPage{}), want)
		same(f, f.teamEvents(store.EventPage{After: want[3].Place, Limit: 5}), want[4:9])
		same(f, f.teamEvents(store.EventPage{Before: want[3].Place, Limit: 2}), want[1:3])
		for _, e := range want {
			place, err := f.store.EventPlace(f.ctx, f.team, e.ID)
			f.ok(err)
			same(f, place, e.Place)
			_, err = f.store.EventPlace(f.ctx, other.Team, e.ID)
			f.fails(err, store.ErrNotFound)
		}
	}},
	{"an event of nobody has no place", func(f *fixture) {
		known := f.appended(f.created("a").ID, start, 1)[0]
		for _, e := range []id.Event{id.NewEvent(start, 1, 0), id.NewEvent(known.At.Add(time.Millisecond), 1, id.EventTail(known.ID)), {}} {
			_, err := f.store.EventPlace(f.ctx, f.team, e)
			f.fails(err, store.ErrNotFound)
		}
		_, err := f.store.EventPlace(f.ctx, id.New[id.Team](), known.ID)
		f.fails(err, store.ErrNotFound)
	}},
	{"who follows a team misses nothing while all its sessions write", func(f *fixture) {
		const writers, updates = 8, 40
		var writing sync.WaitGroup
		for i := range writers {
			s := f.created(fmt.Sprint("s", i)).ID
			writing.Go(func() {
				for n := range updates {
					if err := f.store.Update(f.ctx, func(tx store.Tx) error {
						_, err := tx.Append(s, start, make([]event.Draft, 1+n%3)...)
						return err
					}); err != nil {
						f.Error(err)
					}
				}
			})
		}
		written := make(chan struct{})
		go func() { writing.Wait(); close(written) }()
		var seen []event.Event
		for over := false; !over; {
			select {
			case <-written:
				over = true // and once more
			default:
			}
			after := int64(0)
			if len(seen) > 0 {
				after = seen[len(seen)-1].Place
			}
			seen = append(seen, f.teamEvents(store.EventPage{After: after})...)
		}
		same(f, seen, f.teamEvents(store.EventPage{}))
		last := map[id.Session]int64{}
		for _, e := range seen {
			same(f, e.Seq, last[e.Session]+1)
			last[e.Session] = e.Seq
		}
		same(f, len(last), writers)
		for s, seq := range last {
			same(f, seq, f.stored(s).LastSeq)
		}
	}},
}

// teamEvents reads a piece of the history of the fixture's team.
func (f *fixture) teamEvents(page store.EventPage) []event.Event {
	f.Helper()
	list, err := f.store.TeamEvents(f.ctx, f.team, page)
	f.ok(err)
	return list
}
