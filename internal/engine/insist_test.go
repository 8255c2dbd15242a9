package engine

import (
	"context"
	"errors"
	"testing"
	"time"

	"paddock/internal/fault"
	"paddock/internal/session"
	"paddock/internal/store"
)

// A start whose guest never calls, or whose driver never comes back, ends at its
// deadline: the session fails, says why, and holds nothing.
func TestStartHasADeadline(t *testing.T) {
	for name, hang := range map[string]func(d *stubDriver){
		"the guest never calls": func(d *stubDriver) { d.silent = true },
		"the driver hangs":      func(d *stubDriver) { d.hang = make(chan struct{}) },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			h.setClock(time.Now().Add(300*time.Millisecond - bootDeadline)) // so that the deadline is near
			hang(h.driver)
			v, _, err := h.CreateSession(context.Background(), h.team, CreateRequest{Spec: []byte(demoSpec)})
			if err != nil {
				t.Fatal(err)
			}
			s := h.waitState(v.ID, session.Failed)
			if s.Reason != "its sandbox was not up within 2m0s" {
				t.Errorf("reason is %q", s.Reason)
			}
			h.settled(v)
			if left, _ := h.driver.Leftovers(context.Background()); len(left) > 0 {
				t.Errorf("machines are left: %v", left)
			}
		})
	}
}

// A sandbox that cannot be freed is tried again until it is, also by the next
// server: the removal was accepted at once and ends in destroyed.
func TestRemovalIsTriedUntilDone(t *testing.T) {
	for name, trouble := range map[string]func(ctx context.Context) error{
		"fails": func(context.Context) error { return errors.New("device or resource busy") },
		"hangs": func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			h.haste = true
			h.stop()
			h.start()
			v := h.create(demoSpec)
			failures := make(chan struct{}, 1000)
			h.driver.set(func(ctx context.Context) error { failures <- struct{}{}; return trouble(ctx) })
			if err := h.RemoveSession(context.Background(), h.team, v.Name); err != nil {
				t.Fatal(err)
			}
			again := h.create(demoSpec + "name: " + v.Name + "\n") // the name is free
			for range 3 {
				<-failures
			}
			h.stop()
			h.start()
			<-failures
			h.waitState(v.ID, session.Destroying)
			h.driver.set(nil)
			h.waitState(v.ID, session.Destroyed)
			h.waitState(again.ID, session.Ready)
		})
	}
}

// A session that failed frees its machine as soon as that is possible, not only
// when the server starts next.
func TestFailedSessionsAreFreedInTheEnd(t *testing.T) {
	h := newHouse(t)
	h.haste = true
	h.stop()
	h.start()
	v := h.create(demoSpec)
	failures := make(chan struct{}, 1000)
	h.driver.set(func(context.Context) error { failures <- struct{}{}; return errors.New("busy") })
	h.driver.only(t).end("killed by the test")
	h.waitState(v.ID, session.Failed)
	for range 3 {
		<-failures
	}
	h.driver.set(nil)
	h.settled(v)
	if rows, err := h.store.Machines(context.Background()); err != nil || len(rows) > 0 {
		t.Errorf("machine rows are left: %v, %v", rows, err)
	}
}

// A removal does not wait for the teardown of a session that failed.
func TestRemovalTakesOverAFailedTeardown(t *testing.T) {
	h := newHouse(t)
	h.tries.first, h.tries.most = time.Hour, time.Hour
	v := h.create(demoSpec)
	failed := make(chan struct{}, 10)
	h.driver.set(func(context.Context) error { failed <- struct{}{}; return errors.New("busy") })
	h.driver.only(t).end("killed by the test")
	<-failed
	h.driver.set(nil)
	if err := h.RemoveSession(context.Background(), h.team, v.ID.String()); err != nil {
		t.Fatal(err)
	}
	h.waitState(v.ID, session.Destroyed)
}

// A removal frees what is left of a machine that was lost, of which the store
// knows nothing any more.
func TestRemovalFreesALostMachine(t *testing.T) {
	h := newSavingHouse(t)
	h.tries.first, h.tries.most = time.Hour, time.Hour
	v := h.create(demoSpec)
	m := h.driver.only(t)
	h.savedTurn(v, m, "text")
	failed := make(chan struct{}, 10)
	h.driver.set(func(context.Context) error { failed <- struct{}{}; return errors.New("busy") })
	m.end("killed by the test")
	<-failed
	h.driver.set(nil)
	if err := h.RemoveSession(context.Background(), h.team, v.ID.String()); err != nil {
		t.Fatal(err)
	}
	h.waitState(v.ID, session.Destroyed)
	if left, _ := h.driver.Leftovers(context.Background()); len(left) > 0 {
		t.Errorf("machines are left: %v", left)
	}
}

// then is called once, after the next freeze.
func (m *stubMachine) then(after func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.onPause = after
}

// failResume has the next thaw do something else.
func (m *stubMachine) failResume(instead func() error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.onResume = instead
}

// A machine that ends under a pause, or under a resume, is said to be lost.
func TestMachineLostUnderAPause(t *testing.T) {
	for name, lose := range map[string]func(h *house, v View, m *stubMachine) error{
		"pause": func(h *house, v View, m *stubMachine) error {
			m.failPause(errors.New("connection reset"))
			m.then(func() { m.end("killed by the test") })
			_, err := h.Pause(context.Background(), h.team, v.Name)
			return err
		},
		"resume": func(h *house, v View, m *stubMachine) error {
			if _, err := h.Pause(context.Background(), h.team, v.Name); err != nil {
				return err
			}
			m.failResume(func() error { m.end("killed by the test"); return errors.New("connection reset") })
			return h.Resume(context.Background(), h.team, v.Name)
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			v := h.create(demoSpec)
			wantFault(t, lose(h, v, h.driver.only(t)), fault.BadGateway, "sandbox lost")
		})
	}
}

// A session found in the middle of a rollback is where its machine stands, or
// has failed when there is none.
func TestInterruptedRollbackEnds(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(m *stubMachine)
		want    session.State
	}{
		"machine runs":      {func(*stubMachine) {}, session.Ready},
		"machine is frozen": {func(m *stubMachine) { _ = m.Pause(context.Background()) }, session.Paused},
		"machine is gone":   {func(m *stubMachine) { m.end("gone") }, session.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			v := h.create(demoSpec)
			m := h.driver.only(t)
			err := h.store.Update(context.Background(), func(tx store.Tx) error {
				s, err := tx.SessionByID(context.Background(), v.ID)
				if err != nil {
					return err
				}
				s.State = session.Updating
				return tx.UpdateSession(&s)
			})
			if err != nil {
				t.Fatal(err)
			}
			h.stop()
			if c.want == session.Failed {
				_ = h.driver.Destroy(context.Background(), m.handle)
			} else {
				c.prepare(m)
			}
			h.start()
			s := h.waitState(v.ID, c.want)
			switch c.want {
			case session.Paused:
				if s.PauseReason == "" {
					t.Error("paused for no reason")
				}
				if err := h.Resume(context.Background(), h.team, v.Name); err != nil {
					t.Error(err)
				}
			case session.Failed:
				_, err := h.Input(context.Background(), h.team, v.ID.String(), Input{Text: "hi"})
				wantFault(t, err, fault.Conflict, "failed")
			}
		})
	}
}
