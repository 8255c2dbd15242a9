package storetest

import (
	"fmt"
	"time"

	"paddock/internal/id"
	"paddock/internal/store"
)

var receiptCases = []testCase{
	{"receipts come back and are stored over", func(f *fixture) {
		r := f.receipt("k", start)
		_, err := f.store.Receipt(f.ctx, f.team, "k")
		f.fails(err, store.ErrNotFound)
		f.update(func(tx store.Tx) error {
			if err := tx.SaveReceipt(r); err != nil {
				return err
			}
			own, err := tx.Receipt(f.ctx, f.team, "k") // before it is committed
			same(f, own, r)
			return err
		})
		for _, answer := range []*store.Answer{
			{Status: 201, Header: map[string]string{"Location": "http://x/é"}, Body: []byte("{\x00\xff}")},
			{Status: 204, Sealed: true},
			nil,
		} {
			r.Answer, r.Exec, r.Request, r.CreatedAt = answer, id.Exec{}, r.Request+"x", r.CreatedAt.Add(time.Second)
			f.update(func(tx store.Tx) error { return tx.SaveReceipt(r) })
			found, err := f.store.Receipt(f.ctx, f.team, "k")
			f.ok(err)
			same(f, found, r)
		}
	}},
	{"a key is one team's, and letter case matters", func(f *fixture) {
		other := f.newTeam("other")
		mine, theirs, upper := f.receipt("k", start), f.receipt("k", start), f.receipt("K", start)
		theirs.Team = other
		f.update(func(tx store.Tx) error {
			for _, r := range []store.Receipt{mine, theirs, upper} {
				if err := tx.SaveReceipt(r); err != nil {
					return err
				}
			}
			return nil
		})
		for _, want := range []store.Receipt{mine, theirs, upper} {
			found, err := f.store.Receipt(f.ctx, want.Team, want.Key)
			f.ok(err)
			same(f, found, want)
		}
		_, err := f.store.Receipt(f.ctx, other, "K")
		f.fails(err, store.ErrNotFound)
		for range 2 { // again is no error
			f.update(func(tx store.Tx) error { return tx.DeleteReceipt(f.team, "k") })
		}
		_, err = f.store.Receipt(f.ctx, f.team, "k")
		f.fails(err, store.ErrNotFound)
		_, err = f.store.Receipt(f.ctx, other, "k")
		f.ok(err)
	}},
	{"an update that fails leaves no receipt", func(f *fixture) {
		err := f.store.Update(f.ctx, func(tx store.Tx) error {
			f.ok(tx.SaveReceipt(f.receipt("k", start)))
			return errMine
		})
		f.fails(err, errMine)
		_, err = f.store.Receipt(f.ctx, f.team, "k")
		f.fails(err, store.ErrNotFound)
	}},
	{"old receipts go, the oldest first", func(f *fixture) {
		f.update(func(tx store.Tx) error {
			for i := range 10 {
				if err := tx.SaveReceipt(f.receipt(fmt.Sprint(i), start.Add(time.Duration(i)*time.Hour))); err != nil {
					return err
				}
			}
			return nil
		})
		for _, c := range []struct{ before, limit, gone, oldest int }{{0, 5, 0, 0}, {4, 3, 3, 3}, {4, 3, 1, 4}, {4, 3, 0, 4}, {9, 100, 5, 9}} {
			f.update(func(tx store.Tx) error {
				n, err := tx.DeleteReceipts(start.Add(time.Duration(c.before)*time.Hour), c.limit)
				same(f, n, c.gone)
				return err
			})
			for i := range 10 {
				_, err := f.store.Receipt(f.ctx, f.team, fmt.Sprint(i))
				if i < c.oldest {
					f.fails(err, store.ErrNotFound)
				} else {
					f.ok(err)
				}
			}
		}
	}},
}

// receipt is one of the fixture's team that has not been saved yet.
func (f *fixture) receipt(key string, at time.Time) store.Receipt {
	return store.Receipt{Team: f.team, Key: key, Request: "digest of " + key, Exec: id.New[id.Exec](), CreatedAt: at}
}
