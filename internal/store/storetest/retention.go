package storetest

import (
	"time"

	"paddock/internal/approval"
	"paddock/internal/event"
	"paddock/internal/id"
	"paddock/internal/session"
	"paddock/internal/store"
)

var retentionCases = []testCase{
	{"what was destroyed long ago goes, and nothing else", func(f *fixture) {
		old := f.lived("old", session.Destroyed, start.Add(-2*time.Hour))
		young := f.lived("young", session.Destroyed, start)
		failed := f.lived("failed", session.Failed, start.Add(-2*time.Hour))
		live := f.lived("live", session.Ready, time.Time{})
		same(f, f.forget(start.Add(-time.Hour), 100), rowsOfLife)
		same(f, f.forget(start.Add(-time.Hour), 100), 0)

		_, err := f.store.SessionByID(f.ctx, old.ID)
		f.fails(err, store.ErrNotFound)
		_, err = f.store.Session(f.ctx, f.team, "old")
		f.fails(err, store.ErrNotFound)
		same(f, f.events(old.ID, store.EventPage{Raw: true}), []event.Event{})
		runs, err := f.store.Runs(f.ctx, store.RunFilter{Session: old.ID})
		f.ok(err)
		same(f, len(runs), 0)
		approvals, err := f.store.Approvals(f.ctx, old.ID, false)
		f.ok(err)
		same(f, len(approvals), 0)
		for _, s := range []session.Session{young, failed, live} {
			checkLog(f, f.stored(s.ID), f.events(s.ID, store.EventPage{}))
			same(f, len(f.events(s.ID, store.EventPage{Raw: true})[0].SourceRaw), 3)
			runs, err := f.store.Runs(f.ctx, store.RunFilter{Session: s.ID})
			f.ok(err)
			same(f, len(runs), 1)
		}
	}},
	{"it goes in pieces, the longest gone first, a session's own row last", func(f *fixture) {
		second := f.lived("second", session.Destroyed, start.Add(-2*time.Hour))
		first := f.lived("first", session.Destroyed, start.Add(-3*time.Hour))
		same(f, f.forget(start, 3), 3)
		left := f.events(first.ID, store.EventPage{})
		same(f, left[0].Seq, 2) // the end of a history without its beginning
		same(f, left[len(left)-1].Seq, f.stored(first.ID).LastSeq)
		checkLog(f, f.stored(second.ID), f.events(second.ID, store.EventPage{}))
		same(f, f.forget(start, rowsOfLife-4), rowsOfLife-4)
		f.stored(first.ID)
		same(f, f.forget(start, rowsOfLife), rowsOfLife)
		_, err := f.store.SessionByID(f.ctx, first.ID)
		f.fails(err, store.ErrNotFound)
		same(f, f.forget(start, rowsOfLife), 1)
		_, err = f.store.SessionByID(f.ctx, second.ID)
		f.fails(err, store.ErrNotFound)
	}},
	{"an update that fails forgets nothing", func(f *fixture) {
		s := f.lived("a", session.Destroyed, start.Add(-time.Hour))
		err := f.store.Update(f.ctx, func(tx store.Tx) error {
			n, err := tx.ForgetDestroyed(start, 100)
			same(f, n, rowsOfLife)
			f.ok(err)
			return errMine
		})
		f.fails(err, errMine)
		checkLog(f, f.stored(s.ID), f.events(s.ID, store.EventPage{}))
	}},
}

// rowsOfLife is how many rows lived makes: the session, its run, approval, grant
// and machine, four events and the native bytes of two.
const rowsOfLife = 11

// lived is a session in a state since a moment, with something of everything
// that can belong to one.
func (f *fixture) lived(name string, state session.State, since time.Time) session.Session {
	f.Helper()
	s := f.created(name)
	f.update(func(tx store.Tx) error {
		r := f.run(s.ID, "hello")
		f.ok(tx.SaveRun(r))
		a := f.approval(r, approval.Approved)
		f.ok(tx.SaveApproval(a))
		f.ok(tx.SaveGrant(approval.Grant{ID: id.New[id.Grant](), Session: s.ID, Approval: a.ID, At: start}))
		f.ok(tx.SaveMachine(store.Machine{Session: s.ID, Sandbox: id.New[id.Sandbox](), CreatedAt: start}))
		raw := event.Draft{Run: r.ID, Kind: event.TokenDelta, SourceRaw: []byte("raw")}
		_, err := tx.Append(s.ID, start, raw, event.Draft{Kind: event.RunLog}, raw, event.Draft{Kind: event.RunLog})
		return err
	})
	s = f.stored(s.ID)
	s.EndedAt = since
	return f.moved(s, state)
}

func (f *fixture) forget(before time.Time, limit int) (rows int) {
	f.Helper()
	f.update(func(tx store.Tx) (err error) {
		rows, err = tx.ForgetDestroyed(before, limit)
		return err
	})
	return rows
}
