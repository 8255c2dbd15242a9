package engine

import (
	"context"
	"errors"
	"testing"
	"time"

	"paddock/internal/event"
	"paddock/internal/id"
	"paddock/internal/session"
	"paddock/internal/store"
)

// What was destroyed 30 days ago is forgotten by the clock, in pieces; what was
// destroyed later, failed, or lives is kept, however old it is.
func TestDestroyedSessionsAreForgotten(t *testing.T) {
	ctx := context.Background()
	h := newHouseWith(t, func(h *house) { h.keep = 30 * 24 * time.Hour })
	h.setClock(time.Now())
	removed := func(name string) View {
		v := h.create("agent: demo\nname: " + name + "\n")
		if err := h.RemoveSession(ctx, h.team, v.ID.String()); err != nil {
			t.Fatal(err)
		}
		h.waitState(v.ID, session.Destroyed)
		return v
	}
	old := removed("old")
	drafts := make([]event.Draft, 3*forgetBatch) // more than goes in one piece
	for i := range drafts {
		drafts[i] = event.NewDraft(id.Run{}, event.RunLog, event.Log{Level: "info", Message: "x"})
	}
	if err := h.store.Update(ctx, func(tx store.Tx) error { _, err := tx.Append(old.ID, h.now(), drafts...); return err }); err != nil {
		t.Fatal(err)
	}
	failed := h.create("agent: demo\nname: failed\n")
	h.machineOf(failed.ID).box.(*stubMachine).end("gone")
	h.waitState(failed.ID, session.Failed)
	live := h.create("agent: demo\nname: live\nkeep_warm: true\n")

	pass := func(d time.Duration) {
		h.setClock(h.now().Add(d))
		h.tick(h.now())
	}
	pass(24 * time.Hour)
	young := removed("young")
	pass(29*24*time.Hour - time.Second) // a second too early
	eventually(t, "the clock has looked", func() bool { return !h.retention.isBusy() })
	if n := len(h.history(old)); n <= 3*forgetBatch {
		t.Fatalf("%d events of a session whose time has not come", n)
	}
	pass(forgetEvery)
	eventually(t, "the old session is forgotten", func() bool {
		_, err := h.store.SessionByID(ctx, old.ID)
		return errors.Is(err, store.ErrNotFound)
	})
	if n := len(h.history(old)); n != 0 {
		t.Errorf("%d events of a forgotten session", n)
	}
	for _, v := range []View{young, failed, live} {
		s, err := h.store.SessionByID(ctx, v.ID)
		if err != nil || int64(len(h.history(v))) != s.LastSeq {
			t.Errorf("%s: %d events of %d, %v", v.Name, len(h.history(v)), s.LastSeq, err)
		}
	}
}

// A house that keeps histories for ever never forgets.
func TestRetentionZeroKeepsForEver(t *testing.T) {
	h := newHouse(t)
	if h.retention.due(h.now().Add(100 * 365 * 24 * time.Hour)) {
		t.Error("something is to be forgotten")
	}
}

func (r *retention) isBusy() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.busy
}
