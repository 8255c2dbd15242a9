package engine

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"paddock/internal/approval"
	"paddock/internal/event"
	"paddock/internal/guestapi"
	"paddock/internal/notify"
	"paddock/internal/session"
)

// receiver is a channel that a test answers for.
type receiver struct {
	mu   sync.Mutex
	down bool
	got  []notify.Notice // every attempt
}

func (*receiver) Name() string { return "test" }

func (r *receiver) Deliver(_ context.Context, n notify.Notice) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, n)
	if r.down {
		return errors.New("down")
	}
	return nil
}

func (r *receiver) set(down bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.down = down
}

func (r *receiver) attempts() []notify.Notice {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]notify.Notice(nil), r.got...)
}

// wait waits for so many attempts.
func (r *receiver) wait(t *testing.T, n int) []notify.Notice {
	t.Helper()
	eventually(t, "so many attempts", func() bool { return len(r.attempts()) >= n })
	return r.attempts()
}

// A notice that is not taken comes again, later each time, under its id, over a
// killed server; once it is taken, never.
func TestNotices(t *testing.T) {
	ctx := context.Background()
	outside := &receiver{down: true}
	h := newHouseWith(t, func(h *house) { h.notify = []notify.Channel{outside} })
	h.setClock(time.Now().Truncate(time.Second))
	v, m, run := h.working(demoSpec)
	if got := outside.attempts(); len(got) != 0 {
		t.Errorf("told of %+v", got)
	}
	m.guest.report(t, run, guestapi.ReportAsk, "", guestapi.Ask{
		Key: "k", Action: event.ActionBash, Details: event.AskDetails{Command: "ls"}, Payload: json.RawMessage(`{"native":true}`),
	})
	first := outside.wait(t, 1)[0]
	var body noticeBody
	if err := json.Unmarshal(first.Body, &body); err != nil {
		t.Fatal(err)
	}
	sent := string(first.Body)
	if first.Type != string(event.HumanInputRequested) || body.Type != event.HumanInputRequested || body.Data.SessionName != v.Name ||
		body.Data.Event.RunID != run.String() || !strings.Contains(sent, `"command":"ls"`) || strings.Contains(sent, "native") {
		t.Errorf("told of %s %s", first.Type, sent)
	}
	for i, wait := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
		h.waitPutOff(h.now().Add(wait))
		h.setClock(h.now().Add(wait - time.Millisecond))
		if due, err := h.store.DueNotices(ctx, "test", h.Engine.now(), 10); err != nil || len(due) != 0 {
			t.Fatalf("it is due before %s: %v %v", wait, due, err)
		}
		h.setClock(h.now().Add(time.Millisecond))
		if again := outside.wait(t, i+2)[i+1]; again.ID != first.ID || string(again.Body) != sent {
			t.Errorf("attempt %d is of %+v", i+2, again)
		}
	}
	h.kill()
	outside.set(false)
	h.setClock(h.now().Add(time.Hour))
	h.start()
	if again := outside.wait(t, 5)[4]; again.ID != first.ID {
		t.Errorf("after the kill: %+v", again)
	}
	a := h.pending(v, 1)[0]
	if err := h.Answer(ctx, h.team, v.Name, a.ID.String(), Answer{Outcome: approval.OutcomeApprove}); err != nil {
		t.Fatal(err)
	}
	m.guest.endTurn(t, run, guestapi.End{Outcome: guestapi.EndCompleted})
	h.waitRun(v, run, session.RunCompleted)
	if last := outside.wait(t, 6)[5]; last.ID == first.ID || last.Type != string(event.RunCompleted) {
		t.Errorf("told of %+v", last)
	}
	h.setClock(h.now().Add(24 * time.Hour))
	eventually(t, "nothing is left to be told", func() bool {
		due, err := h.store.DueNotices(ctx, "test", h.Engine.now(), 10)
		return err == nil && len(due) == 0
	})
	if n := len(outside.attempts()); n != 6 {
		t.Errorf("%d attempts, want 6", n)
	}
}

// waitPutOff waits until the one notice there is is to be tried again at a moment.
func (h *house) waitPutOff(at time.Time) {
	h.t.Helper()
	eventually(h.t, "the notice is put off until "+at.String(), func() bool {
		due, err := h.store.DueNotices(context.Background(), "test", at.Add(time.Hour), 10)
		return err == nil && len(due) == 1 && due[0].DueAt.Equal(at)
	})
}

func TestRetryAfter(t *testing.T) {
	for attempts, want := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 5: 16 * time.Second, 11: lastRetry, 1 << 20: lastRetry} {
		if got := retryAfter(attempts); got != want {
			t.Errorf("after %d attempts: %s, want %s", attempts, got, want)
		}
	}
}

// What nobody takes for too long is given up.
func TestNoticeIsGivenUp(t *testing.T) {
	outside := &receiver{down: true}
	h := newHouseWith(t, func(h *house) { h.notify = []notify.Channel{outside} })
	h.setClock(time.Now().Truncate(time.Second))
	_, m, run := h.working(demoSpec)
	m.guest.endTurn(t, run, guestapi.End{Outcome: guestapi.EndCompleted})
	outside.wait(t, 1)
	h.waitPutOff(h.now().Add(firstRetry))
	h.setClock(h.now().Add(noticeLife))
	outside.wait(t, 2)
	eventually(t, "it is given up", func() bool {
		due, err := h.store.DueNotices(context.Background(), "test", h.now().Add(24*time.Hour), 10)
		return err == nil && len(due) == 0
	})
}
