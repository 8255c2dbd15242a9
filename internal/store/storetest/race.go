package storetest

import (
	"errors"
	"fmt"
	"sync"

	"paddock/internal/event"
	"paddock/internal/store"
)

var raceCases = []testCase{
	{"of many creations of one name, one wins", func(f *fixture) {
		errs := f.race(16, func(int) error {
			return f.store.Update(f.ctx, func(tx store.Tx) error { return tx.CreateSession(f.session("same"), 0) })
		})
		same(f, errs.count(store.ErrNameInUse), 15)
		same(f, errs.count(nil), 1)
	}},
	{"slots are never given twice", func(f *fixture) {
		const limit = 5
		errs := f.race(16, func(i int) error {
			return f.store.Update(f.ctx, func(tx store.Tx) error { return tx.CreateSession(f.session(fmt.Sprint("s", i)), limit) })
		})
		same(f, errs.count(nil), limit)
		same(f, errs.count(store.ErrNoSlot), 16-limit)
	}},
	{"of many changes of one generation, one wins", func(f *fixture) {
		s := f.created("a")
		errs := f.race(16, func(int) error {
			mine := s
			return f.store.Update(f.ctx, func(tx store.Tx) error { return tx.UpdateSession(&mine) })
		})
		same(f, errs.count(nil), 1)
		same(f, errs.count(store.ErrStale), 15)
		same(f, f.stored(s.ID).Generation, s.Generation+1)
	}},
	{"a failing update among many takes back only its own", func(f *fixture) {
		names := make([]string, 32)
		errs := f.race(len(names), func(i int) error {
			s := f.session(fmt.Sprint("s", i))
			names[i] = s.Name
			return f.store.Update(f.ctx, func(tx store.Tx) error {
				if err := tx.CreateSession(s, 0); err != nil {
					return err
				}
				if i%2 == 1 {
					return errMine
				}
				if i%4 == 2 {
					panic("boo")
				}
				return nil
			})
		})
		same(f, errs.count(errMine), 16)
		for i, name := range names {
			_, err := f.store.Session(f.ctx, f.team, name)
			if i%4 == 0 {
				f.ok(err)
			} else {
				f.fails(err, store.ErrNotFound)
			}
		}
	}},
	{"readers see an update whole or not at all", func(f *fixture) {
		s := f.created("a")
		done := make(chan struct{})
		var reading sync.WaitGroup
		reading.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				list, err := f.store.Events(f.ctx, s.ID, store.EventPage{})
				if err != nil || len(list)%3 != 0 {
					f.Errorf("saw %d events of updates that append 3 (%v)", len(list), err)
					return
				}
			}
		})
		for range 20 {
			f.appended(s.ID, start, 3)
		}
		close(done)
		reading.Wait()
	}},
	{"appends of many callers leave no gap", func(f *fixture) {
		s := f.created("a")
		errs := f.race(16, func(i int) error {
			var errs []error
			for range 5 {
				errs = append(errs, f.store.Update(f.ctx, func(tx store.Tx) error {
					_, err := tx.Append(s.ID, start, make([]event.Draft, 1+i%3)...)
					return err
				}))
			}
			return errors.Join(errs...)
		})
		same(f, errs.count(nil), 16)
		checkLog(f, f.stored(s.ID), f.events(s.ID, store.EventPage{}))
	}},
}

// outcomes are the errors of a race.
type outcomes []error

// count counts the errors that wrap want; nil counts the successes.
func (o outcomes) count(want error) int {
	n := 0
	for _, err := range o {
		if errors.Is(err, want) {
			n++
		}
	}
	return n
}

// race runs fn n times at once.
func (f *fixture) race(n int, fn func(i int) error) outcomes {
	errs := make(outcomes, n)
	begin := make(chan struct{})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			<-begin
			errs[i] = fn(i)
		})
	}
	close(begin)
	all.Wait()
	return errs
}
