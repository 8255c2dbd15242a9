package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"paddock/internal/fault"
	"paddock/internal/id"
	"paddock/internal/session"
	"paddock/internal/store"
	"paddock/internal/team"
)

// named is a Once whose answer is the thing itself.
func named[T any](key, request string) Once[T] {
	return Once[T]{Key: key, Request: request, Answer: func(made T) store.Answer {
		return store.Answer{Status: http.StatusTeapot, Body: fmt.Append(nil, made)}
	}}
}

// outcome says how a call went: what it made, or what it was answered with.
func outcome(made fmt.Stringer, err error) string {
	var again *Replayed
	switch {
	case errors.As(err, &again):
		return "again " + string(again.Answer.Body)
	case err != nil:
		return string(fault.Of(err).Code)
	}
	return made.String()
}

func (h *house) createNamed(team id.Team, spec, key, request string) string {
	h.t.Helper()
	once := Once[Created]{Key: key, Request: request, Answer: func(made Created) store.Answer {
		return store.Answer{Status: http.StatusCreated, Body: []byte(made.View.ID.String())}
	}}
	v, _, err := h.CreateSession(context.Background(), team, CreateRequest{Spec: []byte(spec), Once: once})
	return outcome(v.ID, err)
}

func (h *house) sessions(team id.Team) int {
	h.t.Helper()
	views, _, err := h.Sessions(context.Background(), team, ListRequest{All: true})
	if err != nil {
		h.t.Fatal(err)
	}
	return len(views)
}

func wantOutcome(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Fatalf("the outcome is %s, want %s", got, want)
	}
}

func TestNamedCreateHappensOnce(t *testing.T) {
	h := newHouse(t)
	const spec = "agent: demo\nname: one\n"
	first := h.createNamed(h.team, spec, "k", "r")
	wantOutcome(t, h.createNamed(h.team, spec, "k", "r"), "again "+first) // the name is in use by now
	wantOutcome(t, h.createNamed(h.team, spec, "k", "other"), "unprocessable")
	wantOutcome(t, h.createNamed(h.team, spec, "l", "r"), "conflict")
	wantOutcome(t, h.createNamed(h.otherTeam(), spec, "l", "r"), h.idOf(h.otherTeam(), "one"))

	h.waitState(h.view("one").ID, session.Ready)
	if err := h.RemoveSession(context.Background(), h.team, "one"); err != nil {
		t.Fatal(err)
	}
	wantOutcome(t, h.createNamed(h.team, spec, "k", "r"), "again "+first)
	h.stop()
	h.start()
	wantOutcome(t, h.createNamed(h.team, spec, "k", "r"), "again "+first)
	if n := h.sessions(h.team); n != 1 {
		t.Errorf("there are %d sessions", n)
	}
	h.setClock(time.Now().Add(receiptLife))
	if again := h.createNamed(h.team, spec, "k", "r"); again == first || again != h.idOf(h.team, "one") {
		t.Errorf("after a day the key still gives %s", again)
	}
}

func TestRefusalsAreNotKept(t *testing.T) {
	h := newHouse(t)
	for range 2 {
		wantOutcome(t, h.createNamed(h.team, "agent: nosuch\n", "k", "r"), "bad_request")
	}
	h.create("agent: none\nname: held\n")
	wantOutcome(t, h.createNamed(h.team, "agent: none\nname: held\n", "k", "r"), "conflict")
	if err := h.RemoveSession(context.Background(), h.team, "held"); err != nil {
		t.Fatal(err)
	}
	wantOutcome(t, h.createNamed(h.team, "agent: none\nname: held\n", "k", "r"), h.idOf(h.team, "held"))
}

func TestNamedCallsAtOnce(t *testing.T) {
	h := newHouse(t)
	v := h.create(demoSpec)
	onceAmong(t, 16, func() string { return h.createNamed(h.team, "agent: demo\n", "create", "r") })
	if n := h.sessions(h.team); n != 2 {
		t.Errorf("there are %d sessions", n)
	}
	onceAmong(t, 16, func() string {
		return outcome(h.Input(context.Background(), h.team, v.Name, Input{Text: "hi", Once: named[id.Run]("input", "r")}))
	})
	runs, _, err := h.Runs(context.Background(), h.team, v.Name, 0, "")
	if err != nil || len(runs) != 1 {
		t.Errorf("there are %d runs (%v)", len(runs), err)
	}
}

// onceAmong does something n times at once: it has to happen once, and the
// others have to be answered with what it made.
func onceAmong(t *testing.T, n int, do func() string) {
	t.Helper()
	outcomes := make([]string, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { outcomes[i] = do() })
	}
	wg.Wait()
	counts := map[string]int{}
	for _, o := range outcomes {
		counts[o]++
	}
	for o := range counts {
		if counts[o] == 1 && counts["again "+o] == n-1 {
			return
		}
	}
	t.Errorf("the outcomes were %v", counts)
}

// A named input is answered again whatever has become of its session.
func TestNamedInputIsAnsweredAgain(t *testing.T) {
	h := newHouse(t)
	v, m, _ := h.working(demoSpec)
	say := func(key, request string) string {
		return outcome(h.Input(context.Background(), h.team, v.ID.String(), Input{Text: "two", Once: named[id.Run](key, request)}))
	}
	first := say("k", "r")
	wantOutcome(t, say("k", "r"), "again "+first)
	wantOutcome(t, say("k", "r2"), "unprocessable")
	wantOutcome(t, h.createNamed(h.team, demoSpec, "k", "create"), "unprocessable") // a key is not one route's
	m.end("killed")
	h.waitState(v.ID, session.Failed)
	wantOutcome(t, say("k", "r"), "again "+first)
	wantOutcome(t, say("l", "r"), "conflict")
}

func TestExpiredReceiptsGo(t *testing.T) {
	h := newHouse(t)
	v, _, _ := h.working(demoSpec)
	begin := time.Now()
	for i := range 20 {
		h.setClock(begin.Add(time.Duration(i) * time.Minute))
		_, err := h.Input(context.Background(), h.team, v.Name, Input{Text: "x", Once: named[id.Run](fmt.Sprint("old", i), "r")})
		if err != nil {
			t.Fatal(err)
		}
	}
	h.setClock(begin.Add(receiptLife + 10*time.Minute))
	for i := range 2 {
		if _, err := h.Input(context.Background(), h.team, v.Name, Input{Text: "x", Once: named[id.Run](fmt.Sprint("new", i), "r")}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 20 {
		_, err := h.store.Receipt(context.Background(), h.team, fmt.Sprint("old", i))
		if gone := errors.Is(err, store.ErrNotFound); gone != (i < 10) {
			t.Errorf("receipt %d is gone: %v (%v)", i, gone, err)
		}
	}
}

// otherTeam is a second team.
func (h *house) otherTeam() id.Team {
	h.t.Helper()
	var other team.Team
	err := h.store.Update(context.Background(), func(tx store.Tx) (err error) {
		other, err = tx.EnsureTeam("other", id.New[id.Team](), h.now())
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return other.ID
}

func (h *house) view(ref string) View {
	h.t.Helper()
	v, err := h.Session(context.Background(), h.team, ref)
	if err != nil {
		h.t.Fatal(err)
	}
	return v
}

func (h *house) idOf(team id.Team, ref string) string {
	h.t.Helper()
	v, err := h.Session(context.Background(), team, ref)
	if err != nil {
		h.t.Fatal(err)
	}
	return v.ID.String()
}
