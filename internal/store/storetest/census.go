package storetest

import (
	"paddock/internal/session"
	"paddock/internal/store"
)

var censusCases = []testCase{
	{"a census counts what lives, by state", func(f *fixture) {
		got, err := f.store.Census(f.ctx)
		f.ok(err)
		same(f, got, store.Census{Sessions: map[session.State]int{}, Runs: map[session.RunState]int{}})
		var last session.Session
		for i, state := range session.States {
			last = f.moved(f.created(string(rune('a'+i))), state)
		}
		f.created("again")
		want := store.Census{Sessions: map[session.State]int{}, Runs: map[session.RunState]int{}}
		for _, state := range session.States {
			if state != session.Destroyed {
				want.Sessions[state]++
			}
		}
		want.Sessions[session.Provisioning]++
		for _, state := range session.RunStates {
			r := f.run(last.ID, string(state))
			r.State = state
			f.update(func(tx store.Tx) error { return tx.SaveRun(r) })
			if !state.Ended() {
				want.Runs[state] = 1
			}
		}
		got, err = f.store.Census(f.ctx)
		f.ok(err)
		same(f, got, want)
	}},
}
