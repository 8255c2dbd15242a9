package storetest

import (
	"strings"
	"time"

	"paddock/internal/id"
	"paddock/internal/session"
	"paddock/internal/store"
)

var sessionCases = []testCase{
	{"every field comes back", func(f *fixture) {
		e := f.environment("e")
		s := f.session("a")
		s.Environment, s.AdapterVersion = e.ID, "1.2.3"
		f.update(func(tx store.Tx) error {
			f.ok(tx.SaveEnvironment(e))
			return tx.CreateSession(s, 1)
		})
		same(f, f.stored(s.ID), s)

		s.State, s.PauseReason, s.PausePending = session.Paused, session.PauseIdle, session.PauseManual
		s.Reason, s.Terminal, s.Memory = "why", "over", "lost:oom"
		s.Usage = session.Usage{TokensIn: 1 << 40, TokensOut: 2, CostMicros: 3}
		s.RestoredTo = start.Add(time.Hour)
		s.Sandbox, s.Deadline, s.EndedAt = id.New[id.Sandbox](), time.Time{}, start.Add(time.Hour)
		s.IdleTimeout, s.KeepWarm, s.ResumeOnTopoff = 90*time.Second, false, false
		f.update(func(tx store.Tx) error { return tx.UpdateSession(&s) })
		same(f, s.Generation, 2)
		same(f, f.stored(s.ID), s)
	}},
	{"every state, pause reason and only these can be stored", func(f *fixture) {
		for _, state := range session.States {
			s := f.session("n-" + string(state))
			s.State = state
			f.update(func(tx store.Tx) error { return tx.CreateSession(s, 0) })
		}
		s := f.created("a")
		for _, reason := range []session.PauseReason{"", session.PauseManual, session.PauseIdle, session.PauseZeroBalance} {
			s.PauseReason = reason
			s = f.moved(s, session.Paused)
		}
		s.State = "sleeping"
		if err := f.store.Update(f.ctx, func(tx store.Tx) error { return tx.UpdateSession(&s) }); err == nil {
			f.Fatal("a state that does not exist was stored")
		}
	}},
	{"identity does not change", func(f *fixture) {
		s := f.created("a")
		changed := s
		changed.Name, changed.Adapter, changed.CreatedAt, changed.Team = "b", "custom", start.Add(time.Hour), f.newTeam("other")
		f.update(func(tx store.Tx) error { return tx.UpdateSession(&changed) })
		s.Generation++
		same(f, f.stored(s.ID), s)
	}},
	{"an update of an older generation is stale and writes nothing", func(f *fixture) {
		s := f.created("a")
		old := s
		s = f.moved(s, session.Ready)
		old.Reason = "late"
		err := f.store.Update(f.ctx, func(tx store.Tx) error { return tx.UpdateSession(&old) })
		f.fails(err, store.ErrStale)
		same(f, old.Generation, 1)
		same(f, f.stored(s.ID), s)
	}},
	{"an update of an absent session is not found", func(f *fixture) {
		s := f.session("a")
		err := f.store.Update(f.ctx, func(tx store.Tx) error { return tx.UpdateSession(&s) })
		f.fails(err, store.ErrNotFound)
	}},
	{"an update does not touch the place of the last event", func(f *fixture) {
		s := f.created("a")
		events := f.appended(s.ID, start.Add(time.Minute), 3)
		s.LastSeq, s.LastEventAt = 77, start.Add(time.Hour)
		f.moved(s, session.Ready)
		got := f.stored(s.ID)
		same(f, got.LastSeq, 3)
		same(f, got.LastEventAt, events[2].At)
	}},
	{"a session begins at the place it is created with", func(f *fixture) {
		s := f.session("fork")
		s.LastSeq, s.LastEventAt = 41, start.Add(time.Hour)
		f.update(func(tx store.Tx) error { return tx.CreateSession(s, 0) })
		events := f.appended(s.ID, start, 2)
		same(f, events[0].Seq, 42)
		same(f, events[1].At, s.LastEventAt)
	}},
	{"a live name is taken, whatever its case", func(f *fixture) {
		for _, state := range session.States {
			if !state.HoldsName() {
				continue
			}
			name := "Name-" + string(state)
			f.moved(f.created(name), state)
			err := f.store.Update(f.ctx, func(tx store.Tx) error { return tx.CreateSession(f.session(strings.ToUpper(name)), 0) })
			f.fails(err, store.ErrNameInUse)
		}
	}},
	{"a name is free once its holder does not hold it", func(f *fixture) {
		for _, state := range session.States {
			if state.HoldsName() {
				continue
			}
			name := "name-" + string(state)
			f.moved(f.created(name), state)
			f.created(name)
		}
	}},
	{"a name of another team is free", func(f *fixture) {
		f.created("a")
		s := f.session("a")
		s.Team = f.newTeam("other")
		f.update(func(tx store.Tx) error { return tx.CreateSession(s, 0) })
	}},
	{"a name means its live holder, else the one that held it last", func(f *fixture) {
		first := f.moved(f.created("a"), session.Destroying)
		second := f.created("A")
		same(f, f.named("a"), second)
		second = f.moved(second, session.Failed)
		same(f, f.named("a"), second)
		first = f.moved(first, session.Destroyed) // ending last is not holding last
		same(f, f.named("A"), second)
		third := f.created("a")
		same(f, f.named("a"), third)
		_ = first
	}},
	{"an id finds sessions in any state, of the team only", func(f *fixture) {
		s := f.moved(f.created("a"), session.Destroyed)
		same(f, f.named(s.ID.String()), s)
		_, err := f.store.Session(f.ctx, f.newTeam("other"), s.ID.String())
		f.fails(err, store.ErrNotFound)
		same(f, f.stored(s.ID), s)
	}},
	{"a name does not reach into another team", func(f *fixture) {
		f.created("a")
		_, err := f.store.Session(f.ctx, f.newTeam("other"), "a")
		f.fails(err, store.ErrNotFound)
	}},
	{"absent sessions are not found", func(f *fixture) {
		for _, ref := range []string{"", "nobody", "sess_", "sess_nonsense", id.New[id.Session]().String(), "a'b\"%_"} {
			_, err := f.store.Session(f.ctx, f.team, ref)
			f.fails(err, store.ErrNotFound)
		}
		_, err := f.store.SessionByID(f.ctx, id.New[id.Session]())
		f.fails(err, store.ErrNotFound)
		_, err = f.store.SessionByID(f.ctx, id.Session{})
		f.fails(err, store.ErrNotFound)
	}},
	{"slots are counted by state and team", func(f *fixture) {
		for _, state := range session.States {
			s := f.moved(f.created("a-"+string(state)), state)
			limited := func(name string, limit int) error {
				return f.store.Update(f.ctx, func(tx store.Tx) error { return tx.CreateSession(f.session(name), limit) })
			}
			if err := limited("b-"+string(state), 1); state.HoldsSlot() {
				f.fails(err, store.ErrNoSlot)
				f.ok(limited("b-"+string(state), 2))
			} else {
				f.ok(err)
			}
			other := f.session("c-" + string(state))
			other.Team = f.newTeam("other-" + string(state))
			f.update(func(tx store.Tx) error { return tx.CreateSession(other, 1) })
			b := f.named("b-" + string(state))
			f.moved(b, session.Destroyed)
			f.moved(s, session.Destroyed)
		}
	}},
	{"a session of an unknown team is not found", func(f *fixture) {
		s := f.session("a")
		s.Team = id.New[id.Team]()
		err := f.store.Update(f.ctx, func(tx store.Tx) error { return tx.CreateSession(s, 0) })
		f.fails(err, store.ErrNotFound)
	}},
	{"an id is used once", func(f *fixture) {
		s := f.created("a")
		s.Name = "b"
		if err := f.store.Update(f.ctx, func(tx store.Tx) error { return tx.CreateSession(s, 0) }); err == nil {
			f.Fatal("one id was used twice")
		}
	}},
}

// named finds a session of the fixture's team.
func (f *fixture) named(ref string) session.Session {
	f.Helper()
	s, err := f.store.Session(f.ctx, f.team, ref)
	f.ok(err)
	return s
}

var sessionListCases = []testCase{
	{"all, newest first; none is no error", func(f *fixture) {
		same(f, f.list(store.SessionFilter{}), []string{})
		f.created("a")
		f.created("b")
		f.created("c")
		same(f, f.list(store.SessionFilter{}), []string{"c", "b", "a"})
	}},
	{"by team", func(f *fixture) {
		f.created("a")
		other := f.session("b")
		other.Team = f.newTeam("other")
		f.update(func(tx store.Tx) error { return tx.CreateSession(other, 0) })
		same(f, f.list(store.SessionFilter{Team: f.team}), []string{"a"})
		same(f, f.list(store.SessionFilter{Team: other.Team}), []string{"b"})
	}},
	{"by states", func(f *fixture) {
		f.moved(f.created("a"), session.Ready)
		f.moved(f.created("b"), session.Failed)
		f.created("c")
		same(f, f.list(store.SessionFilter{States: []session.State{session.Ready, session.Failed}}), []string{"b", "a"})
		same(f, f.list(store.SessionFilter{States: []session.State{session.Destroyed}}), []string{})
	}},
	{"by name, whatever its case, all that ever had it", func(f *fixture) {
		f.moved(f.created("a"), session.Destroyed)
		f.created("A")
		f.created("ab")
		same(f, f.list(store.SessionFilter{Name: "a"}), []string{"A", "a"})
	}},
	{"by a part of name or id, whatever its case, nothing in it special", func(f *fixture) {
		s := f.created("Web_1.x")
		f.created("Web-1.x")
		same(f, f.list(store.SessionFilter{Search: "B_1"}), []string{"Web_1.x"})
		same(f, f.list(store.SessionFilter{Search: "%"}), []string{})
		same(f, f.list(store.SessionFilter{Search: `\`}), []string{})
		same(f, f.list(store.SessionFilter{Search: strings.ToUpper(s.ID.String()[10:])}), []string{"Web_1.x"})
		same(f, f.list(store.SessionFilter{Search: "sess_"}), []string{"Web-1.x", "Web_1.x"})
	}},
	{"in pages that miss none and repeat none while others are made", func(f *fixture) {
		want := []string{}
		for _, name := range strings.Fields("a b c d e f g") {
			f.created(name)
			want = append([]string{name}, want...)
		}
		got := []string{}
		filter := store.SessionFilter{Team: f.team, Limit: 3}
		for {
			page, err := f.store.Sessions(f.ctx, filter)
			f.ok(err)
			if len(page) == 0 {
				break
			}
			for _, s := range page {
				got = append(got, s.Name)
			}
			filter.Before = page[len(page)-1].ID
			f.created("later-" + page[0].Name)
		}
		same(f, got, want)
	}},
}

// list gives the names of the sessions that a filter chooses.
func (f *fixture) list(filter store.SessionFilter) []string {
	f.Helper()
	list, err := f.store.Sessions(f.ctx, filter)
	f.ok(err)
	names := []string{}
	for _, s := range list {
		names = append(names, s.Name)
	}
	return names
}
