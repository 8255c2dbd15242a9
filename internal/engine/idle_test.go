package engine

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"paddock/internal/event"
	"paddock/internal/guestapi"
	"paddock/internal/session"
)

// idleHouse is a house with a stopped clock and a session that pauses after a
// minute.
func idleHouse(t *testing.T, spec string) (*house, View, *stubMachine) {
	h := newHouse(t)
	h.setClock(time.Now())
	v := h.create(spec + "idle_timeout: 1m\n")
	return h, v, h.driver.only(t)
}

// pass lets time pass, does what is due, and gives the session's state then.
func (h *house) pass(v View, d time.Duration) session.Session {
	h.t.Helper()
	h.setClock(h.now().Add(d))
	h.tick(h.now())
	return h.settled(v)
}

// settled gives the session once its actor is done with all that was posted.
func (h *house) settled(v View) session.Session {
	h.t.Helper()
	ctx := context.Background()
	if err := h.actor(v.ID).do(ctx, func(context.Context) error { return nil }); err != nil {
		h.t.Fatal(err)
	}
	s, err := h.store.SessionByID(ctx, v.ID)
	if err != nil {
		h.t.Fatal(err)
	}
	return s
}

// doneExec answers an exec at once.
func doneExec(context.Context) (guestapi.ExecProgress, error) {
	return guestapi.ExecProgress{Exit: &guestapi.ExecExit{}, StdoutEOF: true, StderrEOF: true}, nil
}

// Each kind of activity starts the time anew; nothing else does.
func TestActivityPutsTheIdlePauseOff(t *testing.T) {
	ctx := context.Background()
	for name, c := range map[string]struct {
		do     func(h *house, v View, m *stubMachine)
		active bool
	}{
		"nothing": {func(*house, View, *stubMachine) {}, false},
		"a run": {func(h *house, v View, m *stubMachine) {
			run := h.input(v, "one")
			<-m.guest.prompts
			m.guest.endTurn(t, run, guestapi.End{Outcome: guestapi.EndCompleted})
			h.waitRun(v, run, session.RunCompleted)
		}, true},
		"an exec": {func(h *house, v View, m *stubMachine) {
			m.guest.onExec = doneExec
			if _, err := h.Exec(ctx, h.team, v.Name, ExecRequest{Argv: []string{"true"}}); err != nil {
				h.t.Fatal(err)
			}
		}, true},
		"a list of files": {func(h *house, v View, _ *stubMachine) {
			if _, err := h.ListFiles(ctx, h.team, v.Name, "."); err != nil {
				h.t.Fatal(err)
			}
		}, true},
		"a look": {func(h *house, v View, _ *stubMachine) {
			if _, err := h.Session(ctx, h.team, v.Name); err != nil {
				h.t.Fatal(err)
			}
		}, false},
		"a reader of events": {func(h *house, v View, _ *stubMachine) {
			f, err := h.Feed(ctx, h.team, v.Name)
			if err != nil {
				h.t.Fatal(err)
			}
			h.t.Cleanup(f.Close)
		}, false},
		"a refused call": {func(h *house, v View, _ *stubMachine) {
			if _, err := h.Exec(ctx, h.team, v.Name, ExecRequest{}); err == nil {
				h.t.Error("an exec of nothing")
			}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			h, v, m := idleHouse(t, demoSpec)
			if s := h.pass(v, 59*time.Second); s.State != session.Ready {
				t.Fatalf("after 59 s: %s", s.State)
			}
			c.do(h, v, m)
			s := h.pass(v, 2*time.Second)
			if (s.State == session.Ready) != c.active {
				t.Fatalf("2 s later: %s", s.State)
			}
			if !c.active {
				if s.PauseReason != session.PauseIdle {
					t.Errorf("paused for %s", s.PauseReason)
				}
				return
			}
			if s := h.pass(v, 57*time.Second); s.State != session.Ready {
				t.Errorf("59 s after the activity: %s", s.State)
			}
			if s := h.pass(v, time.Second); s.State != session.Paused || s.PauseReason != session.PauseIdle {
				t.Errorf("60 s after the activity: %s (%s)", s.State, s.PauseReason)
			}
		})
	}
}

// As long as an attached exec runs or a file is being read, and one timeout
// after, the session stays awake.
func TestCallsInFlightHoldAwake(t *testing.T) {
	ctx := context.Background()
	for name, begin := range map[string]func(h *house, v View, m *stubMachine) (end func()){
		"exec": func(h *house, v View, m *stubMachine) func() {
			began, end, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
			m.guest.onExec = func(ctx context.Context) (guestapi.ExecProgress, error) {
				close(began)
				select {
				case <-end:
				case <-ctx.Done():
				}
				return doneExec(ctx)
			}
			go func() {
				defer close(ended)
				if _, err := h.Exec(ctx, h.team, v.Name, ExecRequest{Argv: []string{"sleep"}, Timeout: time.Hour}); err != nil {
					h.t.Error(err)
				}
			}()
			<-began
			return func() { close(end); <-ended }
		},
		"file": func(h *house, v View, m *stubMachine) func() {
			m.guest.onRead = func(context.Context) (guestapi.File, io.ReadCloser, error) {
				return guestapi.File{Path: "f", Size: 3}, io.NopCloser(strings.NewReader("abc")), nil
			}
			_, body, err := h.ReadFile(ctx, h.team, v.Name, "f", 0, -1)
			if err != nil {
				h.t.Fatal(err)
			}
			return func() { _ = body.Close() }
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, v, m := idleHouse(t, demoSpec)
			end := begin(h, v, m)
			for range 5 {
				if s := h.pass(v, 10*time.Minute); s.State != session.Ready {
					t.Fatalf("in flight: %s", s.State)
				}
			}
			end()
			if s := h.pass(v, 59*time.Second); s.State != session.Ready {
				t.Fatalf("59 s after: %s", s.State)
			}
			if s := h.pass(v, time.Second); s.State != session.Paused {
				t.Errorf("60 s after: %s", s.State)
			}
		})
	}
}

// A run is never paused, however long it takes or waits for a person; the time
// begins when it ends.
func TestRunsAreNotIdle(t *testing.T) {
	h, v, m := idleHouse(t, demoSpec)
	run := h.input(v, "one")
	<-m.guest.prompts
	if s := h.pass(v, time.Hour); s.State != session.Ready {
		t.Fatalf("running: %s", s.State)
	}
	m.guest.report(t, run, guestapi.ReportAsk, "", guestapi.Ask{Key: "k", Action: event.ActionBash})
	h.waitRun(v, run, session.RunAwaiting)
	for range 3 {
		if s := h.pass(v, 2*time.Hour); s.State != session.Ready {
			t.Fatalf("awaiting a person: %s", s.State)
		}
	}
	m.guest.endTurn(t, run, guestapi.End{Outcome: guestapi.EndCompleted})
	h.waitRun(v, run, session.RunCompleted)
	if s := h.pass(v, 59*time.Second); s.State != session.Ready {
		t.Fatalf("59 s after the run: %s", s.State)
	}
	if s := h.pass(v, 2*time.Second); s.State != session.Paused {
		t.Errorf("61 s after the run: %s", s.State)
	}
}

// The time counts from the last activity, across restarts, whether the server
// was stopped or killed: never too early, at most activityEvery too late.
func TestIdleTimeSurvivesRestarts(t *testing.T) {
	for name, kill := range map[string]bool{"stopped": false, "killed": true} {
		t.Run(name, func(t *testing.T) {
			h, v, m := idleHouse(t, demoSpec)
			m.guest.onExec = doneExec
			h.pass(v, 50*time.Second)
			if _, err := h.Exec(context.Background(), h.team, v.Name, ExecRequest{Argv: []string{"true"}}); err != nil {
				t.Fatal(err)
			}
			h.pass(v, activityEvery)
			if kill {
				h.kill()
			} else {
				h.stop()
			}
			h.setClock(h.now().Add(45 * time.Second)) // 55 s after the exec
			h.start()
			h.tick(h.now())
			if s := h.settled(v); s.State != session.Ready {
				t.Fatalf("55 s after the last activity: %s", s.State)
			}
			if s := h.pass(v, 5*time.Second+activityEvery); s.State != session.Paused || s.PauseReason != session.PauseIdle {
				t.Errorf("60 s and a bit after: %s (%s)", s.State, s.PauseReason)
			}
		})
	}
}

// However much happens, the row is written once in activityEvery.
func TestActivityCostsFewRows(t *testing.T) {
	h, v, m := idleHouse(t, demoSpec)
	m.guest.onExec = doneExec
	before := h.settled(v).Generation
	for range 30 {
		for range 10 {
			if _, err := h.Exec(context.Background(), h.team, v.Name, ExecRequest{Argv: []string{"true"}}); err != nil {
				t.Fatal(err)
			}
		}
		h.pass(v, time.Second)
	}
	if rows := h.settled(v).Generation - before; rows < 2 || rows > 4 {
		t.Errorf("300 execs in 30 s wrote the row %d times, want about %d", rows, 30*time.Second/activityEvery)
	}
}

// A call that begins while the session is being paused for being idle wins; one
// that begins later resumes it.
func TestCallDuringTheIdlePause(t *testing.T) {
	h, v, m := idleHouse(t, demoSpec)
	m.guest.onExec = doneExec
	ctx := context.Background()
	done := make(chan error, 1)
	m.onPause = func() {
		go func() {
			_, err := h.Exec(ctx, h.team, v.Name, ExecRequest{Argv: []string{"true"}})
			done <- err
		}()
		eventually(t, "the exec is waiting", h.machineOf(v.ID).held)
	}
	if s := h.pass(v, time.Minute); s.State != session.Ready || m.Paused() {
		t.Errorf("after the call: %s, machine frozen %v", s.State, m.Paused())
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	for _, e := range h.history(v) {
		if e.Kind == event.SessionUpdated && strings.Contains(string(e.Data), "PAUSED") {
			t.Errorf("it was paused: %s", e.Data)
		}
	}
}
