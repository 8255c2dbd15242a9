package engine

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"paddock/internal/event"
	"paddock/internal/fault"
	"paddock/internal/guestapi"
	"paddock/internal/sandbox"
	"paddock/internal/session"
)

// silent answers nothing until its caller gives up.
func silent(ctx context.Context) (guestapi.ExecProgress, error) {
	<-ctx.Done()
	return guestapi.ExecProgress{}, ctx.Err()
}

// answerExecs says how execs are answered from now on.
func (g *stubGuest) answerExecs(do func(ctx context.Context) (guestapi.ExecProgress, error)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.onExec = do
}

// silentHouse has a session whose guest is connected and answers nothing.
func silentHouse(t *testing.T) (*house, View, *stubMachine) {
	h := newHouse(t)
	h.driver.stats = sandbox.Stats{Full: 512 * mega, Memory: 14 * mega}
	h.patience = 500 * time.Millisecond
	v := h.create(demoSpec)
	m := h.driver.only(t)
	m.guest.onExec = silent
	m.guest.onRead = func(ctx context.Context) (guestapi.File, io.ReadCloser, error) {
		<-ctx.Done()
		return guestapi.File{}, nil, ctx.Err()
	}
	return h, v, m
}

func TestSilentGuest(t *testing.T) {
	h, v, m := silentHouse(t)
	ctx := context.Background()
	_, _, err := h.ReadFile(ctx, h.team, v.Name, "f", 0, -1)
	wantFault(t, err, fault.BadGateway, "does not answer")
	if h.machineOf(v.ID).held() {
		t.Error("a call that failed holds the session awake")
	}
	// One that stops in the middle of a file.
	r, w := io.Pipe()
	go func() { _, _ = w.Write(make([]byte, 64<<10)) }()
	defer w.Close()
	m.guest.setRead(func(context.Context) (guestapi.File, io.ReadCloser, error) {
		return guestapi.File{Path: "f", Size: 1 << 20}, r, nil
	})
	_, body, err := h.ReadFile(ctx, h.team, v.Name, "f", 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.ReadAll(body)
	wantFault(t, err, fault.BadGateway, "does not answer")
	if err := errors.Join(body.Close(), body.Close()); err != nil {
		t.Error(err)
	}
	if h.machineOf(v.ID).held() {
		t.Error("a closed file holds the session awake")
	}
}

// A guest that says nothing may have been stopped by root inside: it is let go on.
func TestStoppedGuestIsRoused(t *testing.T) {
	h := newHouse(t)
	v := h.create(demoSpec)
	m := h.driver.only(t)
	m.guest.onExec = func(ctx context.Context) (guestapi.ExecProgress, error) {
		<-m.roused
		return doneExec(ctx)
	}
	began := time.Now()
	if _, err := h.Exec(context.Background(), h.team, v.Name, ExecRequest{Argv: []string{"true"}}); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > execPoll {
		t.Errorf("the exec took %s", took)
	}
}

// An exec that is frozen for longer than the guest may be silent goes on after
// the pause, and its caller with it.
func TestExecInFlightAcrossAPause(t *testing.T) {
	h := newHouse(t)
	h.patience = -execPoll + 400*time.Millisecond // of silence in all
	ctx := context.Background()
	v := h.create(demoSpec)
	m := h.driver.only(t)
	began, end := make(chan struct{}), make(chan struct{})
	m.guest.onExec = func(ctx context.Context) (guestapi.ExecProgress, error) {
		close(began)
		<-end
		return doneExec(ctx)
	}
	done := make(chan error, 1)
	go func() {
		_, err := h.Exec(ctx, h.team, v.Name, ExecRequest{Argv: []string{"true"}})
		done <- err
	}()
	<-began
	if _, err := h.Pause(ctx, h.team, v.Name); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-done:
		t.Fatalf("the exec ended in the pause: %v", err)
	case <-time.After(time.Second): // more than twice what a guest may be silent
	}
	if err := h.Resume(ctx, h.team, v.Name); err != nil {
		t.Fatal(err)
	}
	close(end)
	if err := <-done; err != nil {
		t.Errorf("after the pause: %v", err)
	}
}

// The exec of a guest that stays silent fails; pause, resume and removal work
// all the same, and the pause says in the history what it could not do.
func TestSilentGuestIsPausedAndRemoved(t *testing.T) {
	h, v, m := silentHouse(t)
	h.patience = -execPoll + 300*time.Millisecond
	ctx := context.Background()
	_, err := h.Exec(ctx, h.team, v.Name, ExecRequest{Argv: []string{"true"}})
	wantFault(t, err, fault.BadGateway, "does not answer")
	m.guest.onDrain = func(context.Context) error { return fault.New(fault.Internal, "no") }
	if pending, err := h.Pause(ctx, h.team, v.Name); pending || err != nil || !m.Paused() {
		t.Fatal(pending, err)
	}
	var warned bool
	for _, e := range h.history(v) {
		warned = warned || e.Kind == event.RunLog && strings.Contains(string(e.Data), "not synced")
	}
	if !warned {
		t.Error("the history does not say that the pause was done without the guest")
	}
	if err := h.Resume(ctx, h.team, v.Name); err != nil {
		t.Fatal(err)
	}
	if err := h.RemoveSession(ctx, h.team, v.Name); err != nil {
		t.Fatal(err)
	}
	h.waitState(v.ID, session.Destroyed)
}

// A guest that answers at once instead of waiting is not asked without end.
func TestHastyGuest(t *testing.T) {
	h := newHouse(t)
	v := h.create(demoSpec)
	asked := 0
	h.driver.only(t).guest.onExec = func(context.Context) (guestapi.ExecProgress, error) { asked++; return guestapi.ExecProgress{}, nil }
	ctx, cancel := context.WithTimeout(context.Background(), 10*execPace)
	defer cancel()
	if _, err := h.Exec(ctx, h.team, v.Name, ExecRequest{Argv: []string{"true"}}); err == nil {
		t.Error("the exec ended")
	}
	if asked > 12 {
		t.Errorf("the guest was asked %d times in %s", asked, 10*execPace)
	}
}
