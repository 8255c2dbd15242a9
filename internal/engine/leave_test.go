package engine

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"paddock/internal/fault"
	"paddock/internal/guestapi"
	"paddock/internal/session"
	"paddock/internal/store"
)

// leavers is a store whose callers leave while their update is being committed.
type leavers struct{ store.Store }

type leaveKey struct{}

func (l leavers) Update(ctx context.Context, fn func(store.Tx) error) error {
	return l.Store.Update(ctx, func(tx store.Tx) error {
		err := fn(tx)
		if leave, ok := ctx.Value(leaveKey{}).(context.CancelFunc); ok {
			leave()
		}
		return err
	})
}

// leaving gives the context of a caller who leaves during the next commit.
func (h *house) leaving() context.Context {
	ctx, leave := context.WithCancel(context.Background())
	h.t.Cleanup(leave)
	return context.WithValue(ctx, leaveKey{}, leave)
}

// What a caller who left has made durable is carried out all the same: it is
// not a row that waits for somebody.
func TestCallersLeaveDuringTheCommit(t *testing.T) {
	h := newHouse(t)
	h.Engine.store = leavers{h.store}
	v, _, err := h.CreateSession(h.leaving(), h.team, CreateRequest{Spec: []byte(demoSpec)})
	if err != nil {
		t.Fatal(err)
	}
	h.waitState(v.ID, session.Ready)
	g := h.driver.only(t).guest

	run, err := h.Input(h.leaving(), h.team, v.Name, Input{Text: "one"})
	if err != nil {
		t.Fatal(err)
	}
	if got := <-g.prompts; got != run {
		t.Errorf("guest was given %s, want %s", got, run)
	}
	if err := h.RemoveSession(h.leaving(), h.team, v.Name); err != nil {
		t.Fatal(err)
	}
	h.waitState(v.ID, session.Destroyed)

	gone, leave := context.WithCancel(context.Background())
	leave()
	if _, _, err := h.CreateSession(gone, h.team, CreateRequest{Spec: []byte(demoSpec)}); err == nil {
		t.Error("somebody who had left made a session")
	}
}

// A pause that was taken back while the machine was being frozen does not come.
func TestPauseTakenBackDuringTheFreeze(t *testing.T) {
	h := newHouse(t)
	ctx := context.Background()
	v, m, run := h.working(demoSpec)
	if pending, err := h.Pause(ctx, h.team, v.Name); !pending || err != nil {
		t.Fatal(pending, err)
	}
	frozen := make(chan struct{})
	m.onPause = func() {
		if err := h.Resume(ctx, h.team, v.Name); err != nil {
			t.Errorf("take the pause back: %v", err)
		}
		close(frozen)
	}
	m.guest.endTurn(t, run, guestapi.End{Outcome: guestapi.EndCompleted})
	<-frozen
	a := h.actor(v.ID)
	if err := a.do(ctx, func(context.Context) error { return nil }); err != nil { // after the freeze
		t.Fatal(err)
	}
	if s, err := h.Session(ctx, h.team, v.Name); err != nil || s.State != session.Ready || s.PausePending != "" || m.Paused() {
		t.Errorf("session is %s, pending %q, machine frozen %v, %v", s.State, s.PausePending, m.Paused(), err)
	}
}

// A pending pause that cannot be done is tried again, and holds nothing frozen
// meanwhile.
func TestPendingPauseIsTriedAgain(t *testing.T) {
	h := newHouse(t)
	ctx := context.Background()
	v, m, run := h.working(demoSpec)
	if _, err := h.Pause(ctx, h.team, v.Name); err != nil {
		t.Fatal(err)
	}
	m.failPause(fault.New(fault.Internal, "frozen halfway"))
	m.guest.endTurn(t, run, guestapi.End{Outcome: guestapi.EndCompleted})
	h.waitState(v.ID, session.Paused)
}

// A removal that comes during another verb wins; the other is a conflict, not a
// fault of ours.
func TestRemovalDuringAPause(t *testing.T) {
	h := newHouse(t)
	ctx := context.Background()
	v := h.create(demoSpec)
	m := h.driver.only(t)
	m.onPause = func() {
		if err := h.RemoveSession(ctx, h.team, v.Name); err != nil {
			t.Error(err)
		}
	}
	_, err := h.Pause(ctx, h.team, v.Name)
	wantFault(t, err, fault.Conflict, "remove")
	h.waitState(v.ID, session.Destroyed)
}

// A start that a removal ends is no failure: nothing in the log says so.
func TestRemovalDuringStartIsNoError(t *testing.T) {
	var logs bytes.Buffer
	h := newHouseWith(t, func(h *house) { h.output = &logs })
	ctx := context.Background()
	hangs := make(chan struct{})
	h.driver.hang = hangs
	v, _, err := h.CreateSession(ctx, h.team, CreateRequest{Spec: []byte(demoSpec)})
	if err != nil {
		t.Fatal(err)
	}
	<-hangs
	if err := h.RemoveSession(ctx, h.team, v.Name); err != nil {
		t.Fatal(err)
	}
	h.waitState(v.ID, session.Destroyed)
	h.Engine.Stop()
	if log := logs.String(); strings.Contains(log, "level=ERROR") || !strings.Contains(log, "session destroyed") {
		t.Errorf("the log says\n%s", log)
	}
}

// The time in which no server ran does not count toward the deadline of a start.
func TestStartGoesOnLongAfter(t *testing.T) {
	h := newHouse(t)
	ctx := context.Background()
	hangs := make(chan struct{})
	h.driver.hang = hangs
	v, _, err := h.CreateSession(ctx, h.team, CreateRequest{Spec: []byte(demoSpec)})
	if err != nil {
		t.Fatal(err)
	}
	<-hangs
	err = h.store.Update(ctx, func(tx store.Tx) error { // as if created long ago
		s, err := tx.SessionByID(ctx, v.ID)
		if err != nil {
			return err
		}
		s.Deadline = time.Now().Add(-time.Hour)
		return tx.UpdateSession(&s)
	})
	if err != nil {
		t.Fatal(err)
	}
	h.stop()
	h.start()
	h.waitState(v.ID, session.Ready)
}

// Of two who end a session's run, one by removal, both are told that it ended.
func TestCancelDuringRemoval(t *testing.T) {
	h := newHouse(t)
	ctx := context.Background()
	v := h.create(demoSpec)
	g := h.driver.only(t).guest
	run := h.input(v, "one")
	<-g.prompts
	g.onCancel = func() {
		if err := h.RemoveSession(ctx, h.team, v.Name); err != nil {
			t.Error(err)
		}
		<-g.machine.done // and so is its connection
	}
	r, err := h.Cancel(ctx, h.team, v.Name, run.String(), "me")
	if err != nil || r.Outcome != guestapi.CancelNoTurn {
		t.Errorf("cancel: %+v, %v", r, err)
	}
	h.waitState(v.ID, session.Destroyed)
}
