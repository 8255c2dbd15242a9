package engine

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"paddock/internal/event"
	"paddock/internal/fault"
	"paddock/internal/guestapi"
	"paddock/internal/id"
	"paddock/internal/sandbox"
	"paddock/internal/session"
	"paddock/internal/store"
)

const demoSpec = "agent: demo\n"

func TestTurnsFollowEachOther(t *testing.T) {
	h := newHouse(t)
	v := h.create(demoSpec)
	g := h.driver.only(t).guest
	first, second := h.input(v, "one"), h.input(v, "two")
	if got := <-g.prompts; got != first {
		t.Fatalf("guest was given %s first", got)
	}
	if r := h.waitRun(v, second, session.RunQueued); !r.StartedAt.IsZero() {
		t.Error("a queued run has started")
	}
	g.say(t, first, "hi")
	g.endTurn(t, first, guestapi.End{Outcome: guestapi.EndCompleted, StopReason: "end_turn", TokensIn: 3})
	if got := <-g.prompts; got != second {
		t.Fatalf("guest was given %s then", got)
	}
	g.say(t, first, "late") // of a run that has ended: dropped
	g.endTurn(t, second, guestapi.End{Outcome: guestapi.EndCompleted})
	if r := h.waitRun(v, first, session.RunCompleted); r.TokensIn != 3 {
		t.Errorf("run is %+v", r)
	}
	h.waitRun(v, second, session.RunCompleted)
	want := []event.Kind{event.RunStarted, event.TokenDelta, event.RunCompleted}
	if got := kinds(h.history(v), first); !slices.Equal(got, want) {
		t.Errorf("events of the first run are %v", got)
	}
}

func TestQueueIsBounded(t *testing.T) {
	h := newHouse(t)
	v := h.create(demoSpec)
	for range session.MaxQueued + 1 {
		h.input(v, "go")
	}
	_, err := h.Input(context.Background(), h.team, v.Name, Input{Text: "one more"})
	wantFault(t, err, fault.TooManyRequests, "32 inputs already wait")
	_, err = h.Input(context.Background(), h.team, v.Name, Input{Text: " \n"})
	wantFault(t, err, fault.BadRequest, "empty")
}

func TestRestartGoesOn(t *testing.T) {
	h := newHouse(t)
	v := h.create(demoSpec)
	m := h.driver.only(t)
	run, queued := h.input(v, "one"), h.input(v, "two")
	<-m.guest.prompts
	m.guest.say(t, run, "a")
	h.stop()
	h.start()
	m.guest.say(t, run, "b") // numbered on from what was acknowledged
	m.guest.endTurn(t, run, guestapi.End{Outcome: guestapi.EndCompleted})
	if got := <-m.guest.prompts; got != queued {
		t.Fatalf("guest was given %s", got)
	}
	if got := kinds(h.history(v), run); !slices.Equal(got, []event.Kind{event.RunStarted, event.TokenDelta, event.TokenDelta, event.RunCompleted}) {
		t.Errorf("events are %v", got)
	}
}

func TestPauseAndRestart(t *testing.T) {
	h := newHouse(t)
	ctx := context.Background()
	v := h.create(demoSpec)
	m := h.driver.only(t)
	if pending, err := h.Pause(ctx, h.team, v.Name); pending || err != nil {
		t.Fatal(pending, err)
	}
	if !m.Paused() {
		t.Error("the machine is not frozen")
	}
	h.stop()
	_ = m.Resume(ctx) // a server that died between thawing and storing
	h.start()
	if s := h.waitState(v.ID, session.Paused); s.PauseReason != session.PauseManual || !m.Paused() {
		t.Errorf("after the restart: %s, machine frozen %v", s.PauseReason, m.Paused())
	}
	run := h.input(v, "wake up")
	if m.Paused() {
		t.Error("input left the machine frozen")
	}
	if got := <-m.guest.prompts; got != run {
		t.Errorf("guest was given %s", got)
	}
}

func TestPendingPause(t *testing.T) {
	h := newHouse(t)
	ctx := context.Background()
	v := h.create(demoSpec)
	m := h.driver.only(t)
	run, queued := h.input(v, "one"), h.input(v, "two")
	<-m.guest.prompts
	for range 2 {
		if pending, err := h.Pause(ctx, h.team, v.Name); !pending || err != nil {
			t.Fatal(pending, err)
		}
	}
	m.guest.endTurn(t, run, guestapi.End{Outcome: guestapi.EndCompleted})
	h.waitState(v.ID, session.Paused)
	h.waitRun(v, queued, session.RunQueued)
	if err := h.Resume(ctx, h.team, v.Name); err != nil {
		t.Fatal(err)
	}
	if got := <-m.guest.prompts; got != queued {
		t.Errorf("guest was given %s", got)
	}
	wantFault(t, h.Resume(ctx, h.team, v.Name), fault.Conflict, "not paused")
}

func TestIdleSessionsPause(t *testing.T) {
	h := newHouse(t)
	v := h.create(demoSpec + "idle_timeout: 1m\n")
	warm := h.create(demoSpec + "keep_warm: true\n")
	h.setClock(time.Now().Add(2 * time.Minute))
	if s := h.waitState(v.ID, session.Paused); s.PauseReason != session.PauseIdle {
		t.Errorf("paused for %s", s.PauseReason)
	}
	if s := h.waitState(warm.ID, session.Ready); s.State != session.Ready {
		t.Errorf("keep_warm session is %s", s.State)
	}
}

func TestRunLimit(t *testing.T) {
	h := newHouse(t)
	v := h.create(demoSpec + "max_run_time: 10s\n")
	g := h.driver.only(t).guest
	run := h.input(v, "one")
	<-g.prompts
	h.setClock(time.Now().Add(time.Minute))
	r := h.waitRun(v, run, session.RunFailed)
	if r.Failure.Code != event.BudgetExceeded || !r.Failure.Terminal {
		t.Errorf("failure is %+v", r.Failure)
	}
	if got := <-g.cancels; got != run {
		t.Errorf("guest was told to end %s", got)
	}
}

func TestMachineLost(t *testing.T) {
	h := newHouse(t)
	v, m, run := h.working(demoSpec)
	m.end("killed by the test")
	s := h.waitState(v.ID, session.Failed)
	if !strings.Contains(s.Reason, "killed by the test") {
		t.Errorf("reason is %q", s.Reason)
	}
	if r := h.waitRun(v, run, session.RunFailed); r.Failure.Code != event.SandboxLost {
		t.Errorf("failure is %+v", r.Failure)
	}
	_, err := h.Input(context.Background(), h.team, v.ID.String(), Input{Text: "hi"})
	wantFault(t, err, fault.Conflict, "run is terminal: its sandbox was lost")
	again := h.create(demoSpec + "name: " + v.Name + "\n") // name and slot are free
	if again.ID == v.ID {
		t.Error("same session")
	}
}

func TestBootFailure(t *testing.T) {
	h := newHouse(t)
	h.driver.fail = fault.New(fault.NoSpace, "the disk is full")
	v, _, err := h.CreateSession(context.Background(), h.team, CreateRequest{Spec: []byte(demoSpec)})
	if err != nil {
		t.Fatal(err)
	}
	if s := h.waitState(v.ID, session.Failed); s.Reason != "the disk is full" {
		t.Errorf("reason is %q", s.Reason)
	}
	if err := h.RemoveSession(context.Background(), h.team, v.ID.String()); err != nil {
		t.Fatal(err)
	}
	h.waitState(v.ID, session.Destroyed)
}

func TestRemovalInEveryState(t *testing.T) {
	ctx := context.Background()
	for name, prepare := range map[string]func(h *house, v View){
		"ready":   func(*house, View) {},
		"running": func(h *house, v View) { h.input(v, "one"); h.input(v, "two") },
		"paused": func(h *house, v View) {
			if _, err := h.Pause(ctx, h.team, v.Name); err != nil {
				t.Fatal(err)
			}
		},
		"lost": func(h *house, v View) {
			h.driver.only(h.t).end("gone")
			h.waitState(v.ID, session.Failed)
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			v := h.create(demoSpec)
			prepare(h, v)
			for range 2 {
				if err := h.RemoveSession(ctx, h.team, v.ID.String()); err != nil {
					t.Fatal(err)
				}
			}
			h.waitState(v.ID, session.Destroyed)
			if left, _ := h.driver.Leftovers(ctx); len(left) > 0 {
				t.Errorf("machines are left: %v", left)
			}
			if rows, err := h.store.Machines(ctx); err != nil || len(rows) > 0 {
				t.Errorf("machine rows are left: %v, %v", rows, err)
			}
			ends := map[id.Run]int{}
			for _, e := range h.history(v) {
				if e.Kind.Terminal() {
					ends[e.Run]++
				}
			}
			for run, n := range ends {
				if n != 1 {
					t.Errorf("run %s has %d terminal events", run, n)
				}
			}
		})
	}
}

func TestStrangersAreDestroyed(t *testing.T) {
	h := newHouse(t)
	handle, _ := h.driver.Plan(sandbox.Spec{ID: id.New[id.Sandbox]().String()})
	if _, err := h.driver.Start(context.Background(), handle, sandbox.Spec{}); err != nil {
		t.Fatal(err)
	}
	h.stop()
	h.start()
	eventually(t, "the machine of no session is gone", func() bool {
		left, _ := h.driver.Leftovers(context.Background())
		return len(left) == 0
	})
}

func TestCancel(t *testing.T) {
	h := newHouse(t)
	ctx := context.Background()
	v := h.create(demoSpec)
	g := h.driver.only(t).guest
	run, queued := h.input(v, "one"), h.input(v, "two")
	<-g.prompts
	if r, err := h.Cancel(ctx, h.team, v.Name, queued.String(), "me"); err != nil || r.Outcome != guestapi.CancelAcked {
		t.Fatal(r, err)
	}
	h.waitRun(v, queued, session.RunCancelled)
	if r, err := h.Cancel(ctx, h.team, v.Name, "", "me"); err != nil || r.Outcome != guestapi.CancelAcked || r.Run != run {
		t.Fatal(r, err)
	}
	g.endTurn(t, run, guestapi.End{Outcome: guestapi.EndCancelled})
	r := h.waitRun(v, run, session.RunCancelled)
	if r.Failure.Message != "cancelled by me" || r.Failure.Terminal {
		t.Errorf("failure is %+v", r.Failure)
	}
	if r, err := h.Cancel(ctx, h.team, v.Name, "", "me"); err != nil || r.Outcome != guestapi.CancelNoTurn {
		t.Errorf("cancel of nothing: %+v, %v", r, err)
	}
	if s := h.waitState(v.ID, session.Ready); s.Terminal != "" {
		t.Errorf("a cancelled run ended the conversation: %s", s.Terminal)
	}
}

func TestOtherTeamsSeeNothing(t *testing.T) {
	h := newHouse(t)
	ctx := context.Background()
	v := h.create(demoSpec)
	other := id.New[id.Team]()
	_, err := h.Session(ctx, other, v.ID.String())
	wantFault(t, err, fault.NotFound, "no session")
	wantFault(t, h.RemoveSession(ctx, other, v.ID.String()), fault.NotFound, "no session")
	_, err = h.Feed(ctx, other, v.ID.String())
	wantFault(t, err, fault.NotFound, "no session")
	_, err = h.Authenticate(ctx, "nobody's")
	wantFault(t, err, fault.Unauthorized, "token")
	if got, err := h.Authenticate(ctx, "secret"); err != nil || got.Name != "test" || got.Hash == "secret" {
		t.Errorf("token is %+v, %v", got, err)
	}
}

func TestFeedFollows(t *testing.T) {
	h := newHouse(t)
	ctx := context.Background()
	v := h.create(demoSpec)
	f, err := h.Feed(ctx, h.team, v.Name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	at := f.Last()
	changed := f.Changed(at)
	run := h.input(v, "one")
	<-changed
	got, upTo, err := f.Read(ctx, store.EventPage{After: at})
	if err != nil || len(got) != 1 || got[0].Run != run || upTo != got[0].Seq {
		t.Fatalf("after the change: %v up to %d, %v", got, upTo, err)
	}
	if seq, known, err := f.Find(ctx, got[0].ID.String()); seq != got[0].Seq || !known || err != nil {
		t.Errorf("place of %s: %d, %v, %v", got[0].ID, seq, known, err)
	}
	if _, known, err := f.Find(ctx, id.NewEvent(time.Now(), got[0].Seq, 0).String()); known || err != nil {
		t.Errorf("an id of nobody is known: %v, %v", known, err)
	}
	if after, err := f.Recent(ctx); err != nil || after != 0 {
		t.Errorf("recent after %d, %v", after, err)
	}
	if err := h.RemoveSession(ctx, h.team, v.Name); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the feed ended", f.Ended)
}
