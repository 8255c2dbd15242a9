package storetest

import (
	"context"
	"time"

	"paddock/internal/environment"
	"paddock/internal/id"
	"paddock/internal/store"
	"paddock/internal/team"
)

var recordCases = []testCase{
	{"environments come back and never change", func(f *fixture) {
		e := f.environment("e")
		_, err := f.store.Environment(f.ctx, e.ID)
		f.fails(err, store.ErrNotFound)
		f.update(func(tx store.Tx) error { return tx.SaveEnvironment(e) })
		found, err := f.store.Environment(f.ctx, e.ID)
		f.ok(err)
		same(f, found, e)
		if err := f.store.Update(f.ctx, func(tx store.Tx) error { return tx.SaveEnvironment(e) }); err == nil {
			f.Fatal("an environment was saved twice")
		}
	}},
	{"environments are listed, newest first, until they are removed", func(f *fixture) {
		first, second, third := f.environment("a"), f.environment("b"), f.environment("a")
		second.ContentHash, first.Sealed = "other", nil
		theirs := f.environment("a")
		theirs.Team = f.newTeam("other")
		f.update(func(tx store.Tx) error {
			for _, e := range []environment.Environment{first, second, third, theirs} {
				f.ok(tx.SaveEnvironment(e))
			}
			return nil
		})
		listed := func(want store.EnvironmentFilter) (names []id.Environment) {
			f.Helper()
			want.Team = f.team
			list, err := f.store.Environments(f.ctx, want)
			f.ok(err)
			for _, e := range list {
				names = append(names, e.ID)
			}
			return names
		}
		same(f, listed(store.EnvironmentFilter{}), []id.Environment{third.ID, second.ID, first.ID})
		same(f, listed(store.EnvironmentFilter{Limit: 1}), []id.Environment{third.ID})
		same(f, listed(store.EnvironmentFilter{Before: third.ID, Limit: 5}), []id.Environment{second.ID, first.ID})
		same(f, listed(store.EnvironmentFilter{Name: "a"}), []id.Environment{third.ID, first.ID})
		same(f, listed(store.EnvironmentFilter{Name: "a", ContentHash: "other"}), nil)
		same(f, listed(store.EnvironmentFilter{ContentHash: "other"}), []id.Environment{second.ID})
		same(f, listed(store.EnvironmentFilter{Sealed: true}), []id.Environment{third.ID, second.ID})
		anybodys, err := f.store.Environments(f.ctx, store.EnvironmentFilter{Sealed: true, Limit: 1})
		f.ok(err)
		same(f, anybodys, []environment.Environment{theirs})

		s := f.session("s")
		s.Environment = third.ID
		f.update(func(tx store.Tx) error {
			f.ok(tx.CreateSession(s, 0))
			return tx.RemoveEnvironment(third.ID, start.Add(time.Hour))
		})
		same(f, listed(store.EnvironmentFilter{}), []id.Environment{second.ID, first.ID})
		found, err := f.store.Environment(f.ctx, third.ID)
		f.ok(err)
		third.RemovedAt, third.Sealed = start.Add(time.Hour), nil
		same(f, found, third)
		for _, gone := range []id.Environment{third.ID, id.New[id.Environment]()} {
			f.fails(f.store.Update(f.ctx, func(tx store.Tx) error { return tx.RemoveEnvironment(gone, start) }), store.ErrNotFound)
		}
		of, err := f.store.Sessions(f.ctx, store.SessionFilter{Team: f.team, Environment: third.ID})
		f.ok(err)
		same(f, len(of), 1)
		of, err = f.store.Sessions(f.ctx, store.SessionFilter{Team: f.team, Environment: first.ID})
		f.ok(err)
		same(f, len(of), 0)
	}},
	{"machines come back, are stored over, listed and forgotten", func(f *fixture) {
		s := f.created("a").ID
		_, err := f.store.Machine(f.ctx, s)
		f.fails(err, store.ErrNotFound)
		same(f, f.machines(), []store.Machine{})

		m := store.Machine{Session: s, Sandbox: id.New[id.Sandbox](), Handle: []byte("{\x00\xff}"), Epoch: 3, Ack: 1 << 40, Held: []byte{0, 255}, CreatedAt: start}
		f.update(func(tx store.Tx) error { return tx.SaveMachine(m) })
		found, err := f.store.Machine(f.ctx, s)
		f.ok(err)
		same(f, found, m)

		m.Sandbox, m.Handle, m.Epoch, m.Ack, m.Held = id.New[id.Sandbox](), nil, 4, 0, nil
		f.update(func(tx store.Tx) error { return tx.SaveMachine(m) })
		same(f, f.machines(), []store.Machine{m})

		for range 2 { // forgetting what is absent is no error
			f.update(func(tx store.Tx) error { return tx.DeleteMachine(s) })
			same(f, f.machines(), []store.Machine{})
		}
	}},
	{"tokens are found by the hash of their text", func(f *fixture) {
		tok := team.Token{ID: id.New[id.Token](), Team: f.team, Name: "first", Hash: team.HashToken("secret"), CreatedAt: start}
		f.update(func(tx store.Tx) error { return tx.SaveToken(tok) })
		found, err := f.store.Token(f.ctx, team.HashToken("secret"))
		f.ok(err)
		same(f, found, tok)
		tok.Name = "renamed"
		f.update(func(tx store.Tx) error { return tx.SaveToken(tok) })
		found, err = f.store.Token(f.ctx, tok.Hash)
		f.ok(err)
		same(f, found, tok)
		for _, hash := range []string{"", "secret", team.HashToken("other")} {
			_, err := f.store.Token(f.ctx, hash)
			f.fails(err, store.ErrNotFound)
		}
	}},
	{"a team is made once", func(f *fixture) {
		fresh := id.New[id.Team]()
		var first, again team.Team
		f.update(func(tx store.Tx) (err error) {
			first, err = tx.EnsureTeam("t", fresh, start)
			return err
		})
		same(f, first, team.Team{ID: fresh, Name: "t", CreatedAt: start})
		f.update(func(tx store.Tx) (err error) {
			again, err = tx.EnsureTeam("t", id.New[id.Team](), start.Add(time.Hour))
			return err
		})
		same(f, again, first)
	}},
}

func (f *fixture) machines() []store.Machine {
	f.Helper()
	list, err := f.store.Machines(f.ctx)
	f.ok(err)
	return list
}

func contextEnded() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx, cancel
}
