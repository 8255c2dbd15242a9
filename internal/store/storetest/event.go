package storetest

import (
	"encoding/json"
	"time"

	"paddock/internal/event"
	"paddock/internal/id"
	"paddock/internal/store"
)

var eventCases = []testCase{
	{"events get their places and come back as they went", func(f *fixture) {
		s := f.created("a")
		run := id.New[id.Run]()
		drafts := []event.Draft{
			{Kind: event.SessionUpdated, Data: json.RawMessage(`{"status":"SESSION_STATUS_READY"}`)},
			{Run: run, Kind: event.TokenDelta, Data: json.RawMessage("{\"text\":\"" + `😀\u0000` + "\xff\"}"), SourceType: "x/y", SourceRaw: []byte{0, 255}},
			{Run: run, Kind: event.RunCompleted},
		}
		at := start.Add(time.Minute + 321*time.Nanosecond)
		var events []event.Event
		f.update(func(tx store.Tx) (err error) {
			events, err = tx.Append(s.ID, at, drafts...)
			return err
		})
		for i, d := range drafts {
			want := event.Event{
				ID: events[i].ID, Session: s.ID, Run: d.Run, Seq: int64(i + 1), Place: int64(i + 1), At: start.Add(time.Minute), Kind: d.Kind,
				Data: d.Data, SourceType: d.SourceType, SourceRaw: d.SourceRaw,
			}
			if d.Data == nil {
				want.Data = json.RawMessage("{}")
			}
			same(f, events[i], want)
			same(f, id.EventSeq(events[i].ID), want.Seq)
		}
		same(f, f.events(s.ID, store.EventPage{Raw: true}), events)
		events[1].SourceRaw = nil
		same(f, f.events(s.ID, store.EventPage{}), events)
		checkLog(f, f.stored(s.ID), events)
	}},
	{"appending nothing changes nothing", func(f *fixture) {
		s := f.created("a")
		same(f, len(f.appended(s.ID, start, 0)), 0)
		same(f, f.stored(s.ID), s)
	}},
	{"each session has its own places", func(f *fixture) {
		a, b := f.created("a"), f.created("b")
		f.update(func(tx store.Tx) error {
			for range 3 {
				for _, s := range []id.Session{a.ID, b.ID} {
					_, err := tx.Append(s, start, event.NewDraft(id.Run{}, event.RunLog, event.Log{Message: s.String()}))
					f.ok(err)
				}
			}
			return nil
		})
		checkLog(f, f.stored(a.ID), f.events(a.ID, store.EventPage{}))
		checkLog(f, f.stored(b.ID), f.events(b.ID, store.EventPage{}))
	}},
	{"a clock that steps back makes no time run backwards", func(f *fixture) {
		s := f.created("a")
		for _, step := range []time.Duration{0, time.Hour, -time.Hour, 30 * time.Minute, 2 * time.Hour, 2*time.Hour - time.Microsecond} {
			f.appended(s.ID, start.Add(step), 2)
		}
		events := f.events(s.ID, store.EventPage{})
		checkLog(f, f.stored(s.ID), events)
		same(f, events[0].At, start)
		same(f, events[5].At, start.Add(time.Hour))
		same(f, events[11].At, start.Add(2*time.Hour))
	}},
	{"a place that was taken back is given again", func(f *fixture) {
		s := f.created("a")
		f.appended(s.ID, start, 1)
		err := f.store.Update(f.ctx, func(tx store.Tx) error {
			_, err := tx.Append(s.ID, start, make([]event.Draft, 3)...)
			f.ok(err)
			return errMine
		})
		f.fails(err, errMine)
		f.appended(s.ID, start, 2)
		checkLog(f, f.stored(s.ID), f.events(s.ID, store.EventPage{}))
	}},
	{"appending to an absent session is not found", func(f *fixture) {
		err := f.store.Update(f.ctx, func(tx store.Tx) error {
			_, err := tx.Append(id.New[id.Session](), start, event.Draft{Kind: event.RunLog})
			return err
		})
		f.fails(err, store.ErrNotFound)
	}},
	{"appending leaves the generation alone", func(f *fixture) {
		s := f.created("a")
		f.appended(s.ID, start, 1)
		same(f, f.stored(s.ID).Generation, s.Generation)
	}},
	{"pages", func(f *fixture) {
		s := f.created("a").ID
		f.appended(s, start, 10)
		for _, c := range []struct {
			page        store.EventPage
			first, last int64 // 0: none
		}{
			{store.EventPage{}, 1, 10},
			{store.EventPage{Limit: 3}, 1, 3},
			{store.EventPage{After: 4}, 5, 10},
			{store.EventPage{After: 4, Limit: 2}, 5, 6},
			{store.EventPage{After: 10}, 0, 0},
			{store.EventPage{After: 99}, 0, 0},
			{store.EventPage{Before: 5}, 1, 4},
			{store.EventPage{Before: 5, Limit: 2}, 3, 4},
			{store.EventPage{Before: 99, Limit: 2}, 9, 10},
			{store.EventPage{Before: 1, Limit: 2}, 0, 0},
			{store.EventPage{After: 2, Before: 6, Limit: 2}, 4, 5},
			{store.EventPage{After: 2, Before: 6}, 3, 5},
		} {
			events := f.events(s, c.page)
			if c.first == 0 {
				same(f, len(events), 0)
				continue
			}
			same(f, int64(len(events)), c.last-c.first+1)
			for i, e := range events {
				same(f, e.Seq, c.first+int64(i))
			}
		}
	}},
	{"events of one run", func(f *fixture) {
		s := f.created("a").ID
		runs := []id.Run{{}, id.New[id.Run](), id.New[id.Run]()}
		for i := range 9 {
			f.update(func(tx store.Tx) error {
				_, err := tx.Append(s, start, event.Draft{Run: runs[i%3], Kind: event.RunLog})
				return err
			})
		}
		same(f, seqs(f.events(s, store.EventPage{Run: runs[1]})), []int64{2, 5, 8})
		same(f, seqs(f.events(s, store.EventPage{Run: runs[2], After: 3, Limit: 1})), []int64{6})
		same(f, seqs(f.events(s, store.EventPage{Run: runs[2], Before: 9, Limit: 1})), []int64{6})
		same(f, seqs(f.events(s, store.EventPage{Run: id.New[id.Run]()})), nil)
	}},
	{"events of some kinds", func(f *fixture) {
		s := f.created("a").ID
		kinds := []event.Kind{event.RunStarted, event.TokenDelta, event.RunCompleted}
		f.update(func(tx store.Tx) error {
			for i := range 9 {
				_, err := tx.Append(s, start, event.Draft{Kind: kinds[i%3]})
				f.ok(err)
			}
			return nil
		})
		same(f, seqs(f.events(s, store.EventPage{Kinds: kinds[1:2]})), []int64{2, 5, 8})
		same(f, seqs(f.events(s, store.EventPage{Kinds: kinds[1:], After: 2, Limit: 3})), []int64{3, 5, 6})
		same(f, seqs(f.events(s, store.EventPage{Kinds: kinds[:1], Before: 7, Limit: 1})), []int64{4})
		same(f, seqs(f.events(s, store.EventPage{Kinds: []event.Kind{event.PolicyDenied}})), nil)
	}},
	{"a page has one event more than fits", func(f *fixture) {
		s := f.created("a").ID
		f.update(func(tx store.Tx) error {
			for range 5 {
				_, err := tx.Append(s, start, event.Draft{Kind: event.RunLog, Data: json.RawMessage(`{"n":1}`), SourceRaw: []byte("12345678")})
				f.ok(err)
			}
			return nil
		})
		same(f, len(f.events(s, store.EventPage{Bytes: 1})), 1)
		same(f, len(f.events(s, store.EventPage{Bytes: 15})), 3)
		same(f, len(f.events(s, store.EventPage{Bytes: 15, Raw: true})), 1)
		same(f, len(f.events(s, store.EventPage{Bytes: 36})), 5)
	}},
	{"bare events have no payload", func(f *fixture) {
		s := f.created("a").ID
		want := f.appended(s, start, 2)
		for i := range want {
			want[i].Data = nil
		}
		same(f, f.events(s, store.EventPage{Bare: true}), want)
	}},
	{"an absent session has no events", func(f *fixture) {
		same(f, f.events(id.New[id.Session](), store.EventPage{}), []event.Event{})
	}},
	{"a context that has ended reads nothing", func(f *fixture) {
		ctx, cancel := contextEnded()
		defer cancel()
		_, err := f.store.Events(ctx, f.created("a").ID, store.EventPage{})
		f.fails(err, ctx.Err())
	}},
}

func seqs(events []event.Event) (list []int64) {
	for _, e := range events {
		list = append(list, e.Seq)
	}
	return list
}
