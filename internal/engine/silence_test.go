package engine

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"paddock/internal/approval"
	"paddock/internal/event"
	"paddock/internal/guestapi"
	"paddock/internal/id"
)

// warnings gives the silence warnings in a history.
func warnings(t *testing.T, events []event.Event) (all []event.Log) {
	t.Helper()
	for _, e := range events {
		if !isSilenceWarning(e) {
			continue
		}
		var l event.Log
		if err := json.Unmarshal(e.Data, &l); err != nil {
			t.Fatal(err)
		}
		all = append(all, l)
	}
	return all
}

// wait lets time pass and looks for silence as the clock does.
func (h *house) wait(v View, d time.Duration) {
	h.t.Helper()
	h.setClock(h.now().Add(d))
	if m := h.machineOf(v.ID); m.lookForSilence(h.now()) {
		h.warnOfSilence(context.Background(), m)
	}
}

func (h *house) wantWarnings(v View, n int, parts ...string) {
	h.t.Helper()
	got := warnings(h.t, h.history(v))
	if len(got) != n {
		h.t.Fatalf("%d warnings, want %d: %+v", len(got), n, got)
	}
	for _, part := range parts {
		if l := got[n-1]; !strings.Contains(l.Message, part) {
			h.t.Errorf("%q does not say %q", l.Message, part)
		}
	}
}

func TestSilenceIsWarnedOfOnce(t *testing.T) {
	h := newHouse(t)
	ctx := context.Background()
	h.setClock(time.Now())
	v, m, run := h.working(demoSpec)
	g := m.guest
	h.wait(v, 119*time.Second)
	h.wantWarnings(v, 0)
	h.wait(v, 2*time.Second)
	h.wantWarnings(v, 1, "reported nothing for 2m1s", "has not begun to answer")
	for range 3 {
		h.wait(v, 10*time.Minute)
	}
	h.wantWarnings(v, 1)

	// Another stretch, in a tool call; its output is no silence.
	g.report(t, run, guestapi.ReportEvent, event.ToolCallStarted, event.ToolStarted{ToolCallID: "a", Name: "read"})
	g.report(t, run, guestapi.ReportEvent, event.ToolCallStarted, event.ToolStarted{ToolCallID: "b", Name: "shell", Input: []byte(`{"command":"make all"}`)})
	g.report(t, run, guestapi.ReportEvent, event.ToolCallCompleted, event.ToolCompleted{ToolCallID: "a"})
	for range 3 {
		h.wait(v, 100*time.Second)
		g.report(t, run, guestapi.ReportEvent, event.RunLog, event.Log{Level: "debug", Message: "tool output"})
	}
	h.wantWarnings(v, 1)
	h.wait(v, 130*time.Second)
	h.wantWarnings(v, 2, "2m10s", "shell", "make all")
	if f := warnings(t, h.history(v))[1].Fields; f["silent_seconds"] != float64(130) || f["tool_call_id"] != "b" || f["tool"] != "shell" {
		t.Errorf("fields are %v", f)
	}

	// Entries that belong to no run are none of its signs.
	g.say(t, run, "x")
	h.wait(v, 90*time.Second)
	g.report(t, id.Run{}, guestapi.ReportEvent, event.RunLog, event.Log{Level: "info", Message: "x"})
	h.wait(v, 40*time.Second)
	h.wantWarnings(v, 3, "shell")

	// People may take their time, and it counts from their answer.
	g.report(t, run, guestapi.ReportAsk, "", guestapi.Ask{Key: "k", Action: event.ActionBash})
	h.wait(v, 24*time.Hour)
	h.wantWarnings(v, 3)
	open, err := h.Approvals(ctx, h.team, v.Name, true)
	if err != nil || len(open) != 1 {
		t.Fatal(open, err)
	}
	if err := h.Answer(ctx, h.team, v.Name, open[0].ID.String(), Answer{Outcome: approval.OutcomeApprove}); err != nil {
		t.Fatal(err)
	}
	h.wait(v, 119*time.Second)
	h.wantWarnings(v, 3)
	h.wait(v, 2*time.Second)
	h.wantWarnings(v, 4)
	g.endTurn(t, run, guestapi.End{Outcome: guestapi.EndCompleted})
	h.wait(v, time.Hour)
	h.wantWarnings(v, 4)
}

// A silent stretch goes on under the next server, which gives a guest time to
// hand over what it kept and does not warn again.
func TestSilenceOverARestart(t *testing.T) {
	h := newHouse(t)
	h.setClock(time.Now())
	v, m, run := h.working(demoSpec)
	h.setClock(h.now().Add(100 * time.Second))
	h.stop()
	h.setClock(h.now().Add(100 * time.Second))
	h.start()
	h.wait(v, time.Second)
	h.wantWarnings(v, 0) // the guest may be about to speak
	h.wait(v, silenceSettle)
	h.wantWarnings(v, 1, "3m31s")
	h.stop()
	h.start()
	h.wait(v, time.Hour)
	h.wantWarnings(v, 1)
	m.guest.say(t, run, "x")
	h.wait(v, silenceLimit)
	h.wantWarnings(v, 2, "talking")
}

// The clock itself looks.
func TestTheClockLooksForSilence(t *testing.T) {
	h := newHouse(t)
	h.setClock(time.Now())
	v, _, _ := h.working(demoSpec)
	h.setClock(h.now().Add(silenceLimit))
	h.tick(h.now())
	eventually(t, "a warning", func() bool { return len(warnings(t, h.history(v))) == 1 })
}
