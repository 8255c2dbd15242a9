package storetest

import (
	"time"

	"paddock/internal/event"
	"paddock/internal/id"
	"paddock/internal/store"
)

var noticeCases = []testCase{
	{"due are those of a channel whose time has come, the longest due first, with every field", func(f *fixture) {
		own := id.New[id.Session]()
		notice := func(channel string, due time.Duration) store.Notice {
			n := store.Notice{
				ID: id.New[id.Notice](), Channel: channel, Session: own, Kind: event.RunCompleted, Body: []byte{0, 255},
				CreatedAt: start, DueAt: start.Add(due), Attempts: 3,
			}
			f.update(func(tx store.Tx) error { return tx.SaveNotice(n) })
			return n
		}
		second, first, later := notice("url", 0), notice("url", -time.Second), notice("url", time.Second)
		notice("command", 0)
		due := func() []store.Notice {
			f.Helper()
			list, err := f.store.DueNotices(f.ctx, "url", start, 10)
			f.ok(err)
			return list
		}
		same(f, due(), []store.Notice{first, second})
		list, err := f.store.DueNotices(f.ctx, "url", start, 1)
		f.ok(err)
		same(f, list, []store.Notice{first})
		first.DueAt, first.Attempts = start.Add(time.Hour), 4
		later.DueAt = start
		f.update(func(tx store.Tx) error {
			f.ok(tx.SaveNotice(first))
			f.ok(tx.SaveNotice(later))
			f.ok(tx.DeleteNotice(second.ID))
			return tx.DeleteNotice(second.ID) // absent is no error
		})
		same(f, due(), []store.Notice{later})
	}},
	{"old ones go, the oldest first, at most so many", func(f *fixture) {
		for i := range 3 {
			n := store.Notice{ID: id.New[id.Notice](), Channel: "url", CreatedAt: start.Add(time.Duration(i) * time.Second), DueAt: start, Body: []byte("{}")}
			f.update(func(tx store.Tx) error { return tx.SaveNotice(n) })
		}
		for _, want := range []int{1, 1, 0} {
			f.update(func(tx store.Tx) error {
				n, err := tx.DeleteNotices(start.Add(2*time.Second), 1)
				same(f, n, want)
				return err
			})
		}
		list, err := f.store.DueNotices(f.ctx, "url", start, 10)
		f.ok(err)
		same(f, len(list), 1)
		same(f, list[0].CreatedAt, start.Add(2*time.Second))
	}},
}
