package session

import "testing"

// Every state can be reached from the beginning, and every state that is not
// final can reach a final one.
func TestSessionTable(t *testing.T) {
	reach := walk(Provisioning, after)
	for _, s := range States {
		if !reach[s] {
			t.Errorf("%s cannot be reached", s)
		}
		if s.Wire() == "" {
			t.Errorf("%s has no word on the wire", s)
		}
		if got, ok := StateFromWire(s.Wire()); !ok || got != s {
			t.Errorf("%s reads back as %s", s.Wire(), got)
		}
		if s.Final() {
			continue
		}
		if !walk(s, after)[Destroyed] {
			t.Errorf("%s cannot be ended", s)
		}
		if s != Destroying {
			if next, err := s.On(CauseRemove); err != nil || next != Destroying {
				t.Errorf("%s cannot be removed: %v", s, err)
			}
		}
	}
	if _, err := Destroyed.On(CauseRemove); err == nil {
		t.Error("a destroyed session moved")
	}
}

func after(s State) (next []State) {
	for m, to := range moves {
		if m.from == s {
			next = append(next, to)
		}
	}
	return next
}

func TestRunTable(t *testing.T) {
	next := func(s RunState) (out []RunState) {
		for m, to := range runMoves {
			if m.from == s {
				out = append(out, to)
			}
		}
		return out
	}
	reach := walk(RunQueued, next)
	for _, s := range RunStates {
		if !reach[s] {
			t.Errorf("%s cannot be reached", s)
		}
		if s.Wire() == "" {
			t.Errorf("%s has no word on the wire", s)
		}
		if s.Ended() != (len(next(s)) == 0) {
			t.Errorf("%s: Ended and the table disagree", s)
		}
		if s.Ended() {
			continue
		}
		for _, c := range []RunCause{RunFail, RunCancel} {
			if to, err := s.On(c); err != nil || !to.Ended() {
				t.Errorf("%s on %s: %s, %v", s, c, to, err)
			}
		}
	}
}

func walk[S comparable](from S, next func(S) []S) map[S]bool {
	seen := map[S]bool{from: true}
	for todo := []S{from}; len(todo) > 0; {
		s := todo[0]
		todo = todo[1:]
		for _, n := range next(s) {
			if !seen[n] {
				seen[n] = true
				todo = append(todo, n)
			}
		}
	}
	return seen
}

func TestNames(t *testing.T) {
	for name, ok := range map[string]bool{
		"a": true, "demo-quiet-otter": true, "A.b_c-9": true, "": false, "-a": false, "a-": false, "a b": false,
		"sess_x": false, "SESS_x": false, "é": false, "a/b": false, string(make([]byte, 65)): false,
	} {
		if err := CheckName(name); (err == nil) != ok {
			t.Errorf("CheckName(%q) = %v", name, err)
		}
	}
	for range 200 {
		if n := GenerateName("custom"); CheckName(n) != nil {
			t.Errorf("generated %q", n)
		}
	}
}

// The states in which an input is taken; without an agent, or once the
// conversation has ended, none.
func TestAcceptsInput(t *testing.T) {
	for _, state := range States {
		if got, want := (Session{State: state, Adapter: "demo"}).AcceptsInput(), state == Ready || state == Paused; got != want {
			t.Errorf("%s accepts input: %v", state, got)
		}
		for _, s := range []Session{{State: state, Adapter: "none"}, {State: state, Adapter: "demo", Terminal: "over"}} {
			if s.AcceptsInput() {
				t.Errorf("%+v accepts input", s)
			}
		}
	}
}
