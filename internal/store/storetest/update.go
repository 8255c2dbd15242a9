package storetest

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"time"

	"paddock/internal/event"
	"paddock/internal/id"
	"paddock/internal/store"
)

var errMine = errors.New("mine")

var updateCases = []testCase{
	{"an error of the function is returned and takes everything back", func(f *fixture) {
		s := f.session("a")
		err := f.store.Update(f.ctx, func(tx store.Tx) error {
			f.ok(tx.CreateSession(s, 0))
			_, err := tx.Append(s.ID, start, event.NewDraft(id.Run{}, event.RunLog, event.Log{}))
			f.ok(err)
			return errMine
		})
		f.fails(err, errMine)
		_, err = f.store.SessionByID(f.ctx, s.ID)
		f.fails(err, store.ErrNotFound)
		same(f, f.events(s.ID, store.EventPage{}), []event.Event{})
	}},
	{"a panic becomes the caller's error and takes everything back", func(f *fixture) {
		s := f.session("a")
		err := f.store.Update(f.ctx, func(tx store.Tx) error {
			f.ok(tx.CreateSession(s, 0))
			panic("boo")
		})
		if err == nil || !strings.Contains(err.Error(), "boo") {
			f.Fatalf("error is %v, want the panic's value in it", err)
		}
		_, err = f.store.SessionByID(f.ctx, s.ID)
		f.fails(err, store.ErrNotFound)
		f.created("a") // the store goes on
	}},
	{"a function whose goroutine exits takes everything back", func(f *fixture) {
		s := f.session("a")
		var gone sync.WaitGroup
		gone.Go(func() {
			_ = f.store.Update(f.ctx, func(tx store.Tx) error {
				f.ok(tx.CreateSession(s, 0))
				runtime.Goexit() // what t.FailNow does
				return nil
			})
		})
		gone.Wait()
		f.created("a")
	}},
	{"a function reads what it wrote, others only when it is committed", func(f *fixture) {
		s := f.session("a")
		f.update(func(tx store.Tx) error {
			f.ok(tx.CreateSession(s, 0))
			found, err := tx.Session(f.ctx, f.team, "a")
			f.ok(err)
			same(f, found, s)
			_, err = f.store.Session(f.ctx, f.team, "a")
			f.fails(err, store.ErrNotFound)
			events, err := tx.Append(s.ID, start, event.NewDraft(id.Run{}, event.RunLog, event.Log{}))
			f.ok(err)
			read, err := tx.Events(f.ctx, s.ID, store.EventPage{})
			f.ok(err)
			same(f, read, events)
			return nil
		})
		same(f, f.stored(s.ID).LastSeq, 1)
	}},
	{"an error inside does not spoil the transaction when the function goes on", func(f *fixture) {
		f.created("a")
		f.update(func(tx store.Tx) error {
			f.fails(tx.CreateSession(f.session("a"), 0), store.ErrNameInUse)
			return tx.CreateSession(f.session("b"), 0)
		})
	}},
	{"a function that hides an error of the database fails all the same", func(f *fixture) {
		e := f.environment("e")
		f.update(func(tx store.Tx) error { return tx.SaveEnvironment(e) })
		err := f.store.Update(f.ctx, func(tx store.Tx) error {
			_ = tx.SaveEnvironment(e)
			_ = tx.CreateSession(f.session("a"), 0)
			return nil
		})
		if err == nil {
			f.Fatal("the update succeeds")
		}
		same(f, f.list(store.SessionFilter{}), []string{})
	}},
	{"a transaction is of no use after its update", func(f *fixture) {
		var kept store.Tx
		f.update(func(tx store.Tx) error { kept = tx; return nil })
		if err := kept.CreateSession(f.session("a"), 0); err == nil {
			f.Fatal("a kept transaction still writes")
		}
	}},
	{"a context that has ended starts nothing", func(f *fixture) {
		ctx, cancel := context.WithCancel(f.ctx)
		cancel()
		err := f.store.Update(ctx, func(store.Tx) error { f.Error("ran"); return nil })
		f.fails(err, context.Canceled)
	}},
	{"a context that ends while waiting for the turn starts nothing", func(f *fixture) {
		ctx, cancel := context.WithCancel(f.ctx)
		f.update(func(store.Tx) error {
			waiting := make(chan error)
			var other sync.WaitGroup
			other.Go(func() {
				waiting <- f.store.Update(ctx, func(store.Tx) error { f.Error("ran"); return nil })
			})
			cancel()
			f.fails(<-waiting, context.Canceled)
			other.Wait()
			return nil
		})
	}},
	{"a context that ends inside a function does not break the others", func(f *fixture) {
		ctx, cancel := context.WithCancel(f.ctx)
		s := f.session("a")
		_ = f.store.Update(ctx, func(tx store.Tx) error {
			f.ok(tx.CreateSession(s, 0))
			cancel()
			_, err := tx.SessionByID(ctx, s.ID)
			f.fails(err, context.Canceled)
			return nil
		})
		// Committed or not, the store is whole.
		f.created("b")
	}},
	{"updates after Close fail, and Close may come again", func(f *fixture) {
		f.ok(f.store.Close())
		if err := f.store.Update(f.ctx, func(store.Tx) error { f.Error("ran"); return nil }); err == nil {
			f.Fatal("an update after Close succeeds")
		}
		f.ok(f.store.Close())
	}},
	{"times keep their microseconds and come back in UTC", func(f *fixture) {
		s := f.session("a")
		s.CreatedAt = start.Add(789 * time.Nanosecond).In(time.FixedZone("x", 3600))
		f.update(func(tx store.Tx) error { return tx.CreateSession(s, 0) })
		got := f.stored(s.ID).CreatedAt
		if !got.Equal(start) || got.Location() != time.UTC {
			f.Fatalf("time is %v, want %v", got, start)
		}
	}},
}
