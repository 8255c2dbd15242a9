package engine

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"paddock/internal/approval"
	"paddock/internal/event"
	"paddock/internal/fault"
	"paddock/internal/guestapi"
	"paddock/internal/id"
	"paddock/internal/session"
)

// asks has the guest ask to run a command; the tool's whole input goes along.
func (m *stubMachine) asks(t *testing.T, run id.Run, key, command string) {
	t.Helper()
	input, err := json.Marshal(map[string]string{"command": command, "description": "ask " + key})
	if err != nil {
		t.Fatal(err)
	}
	m.guest.report(t, run, guestapi.ReportAsk, "", guestapi.Ask{Key: key, Action: event.ActionBash, Details: event.AskDetails{
		Tool: "shell", Kind: "execute", Command: command, Input: input, Editable: true,
	}})
}

// pending gives what waits in a session, once it is n.
func (h *house) pending(v View, n int) []approval.Approval {
	h.t.Helper()
	var open []approval.Approval
	eventually(h.t, "so many approvals wait", func() bool {
		var err error
		if open, err = h.Approvals(context.Background(), h.team, v.Name, true); err != nil {
			h.t.Fatal(err)
		}
		return len(open) == n
	})
	return open
}

// logs gives what the run.log of a session's history say, in order.
func (h *house) logs(v View) []event.Log {
	h.t.Helper()
	var all []event.Log
	for _, ev := range h.history(v) {
		if ev.Kind != event.RunLog {
			continue
		}
		var l event.Log
		if err := json.Unmarshal(ev.Data, &l); err != nil {
			h.t.Fatal(err)
		}
		all = append(all, l)
	}
	return all
}

// received gives the answers in a session's history, in order.
func (h *house) received(v View) []event.Answered {
	h.t.Helper()
	var all []event.Answered
	for _, ev := range h.history(v) {
		if ev.Kind != event.HumanInputReceived {
			continue
		}
		var a event.Answered
		if err := json.Unmarshal(ev.Data, &a); err != nil {
			h.t.Fatal(err)
		}
		all = append(all, a)
	}
	return all
}

// What nobody answers is decided at its deadline and not before, as the
// environment says, also when the server was away then.
func TestApprovalDeadline(t *testing.T) {
	for name, c := range map[string]struct {
		spec     string
		timeout  time.Duration
		question bool
		away     bool
		deferred bool
		outcome  approval.Outcome
		decision guestapi.Decision
	}{
		"by default it is rejected after a day": {"", 24 * time.Hour, false, false, false, approval.OutcomeReject, guestapi.Deny},
		"approved":                              {"approvals: {timeout: 90s, on_timeout: approve}\n", 90 * time.Second, false, false, false, approval.OutcomeApprove, guestapi.Allow},
		"rejected while the server is away":     {"approvals: {timeout: 10m}\n", 10 * time.Minute, false, true, false, approval.OutcomeReject, guestapi.Deny},
		"a question cannot be approved":         {"approvals: {timeout: 1h, on_timeout: approve}\n", time.Hour, true, false, false, approval.OutcomeReject, guestapi.Deny},
		"put off for later":                     {"approvals: {timeout: 1h}\n", time.Hour, false, false, true, approval.OutcomeReject, guestapi.Deny},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			h := newHouse(t)
			h.setClock(time.Now().Truncate(time.Second))
			v, m, run := h.working(demoSpec + c.spec)
			asked := h.Engine.now()
			details := event.AskDetails{Tool: "shell", Command: "ls"}
			if c.question {
				details = event.AskDetails{Question: "Which colour?"}
			}
			m.guest.report(t, run, guestapi.ReportAsk, "", guestapi.Ask{Key: "k", Action: event.ActionUnspecified, Details: details})
			a := h.pending(v, 1)[0]
			if want := asked.Add(c.timeout); !a.Deadline.Equal(want) || a.Asked.Deadline == nil || !a.Asked.Deadline.Equal(want) {
				t.Fatalf("the deadline is %s, in the event %v, want %s", a.Deadline, a.Asked.Deadline, want)
			}
			if c.deferred {
				if err := h.Answer(ctx, h.team, v.Name, a.ID.String(), Answer{Outcome: approval.OutcomeDefer}); err != nil {
					t.Fatal(err)
				}
			}
			h.pass(v, c.timeout-time.Microsecond)
			h.pending(v, 1)
			if c.away {
				h.kill()
				h.setClock(h.now().Add(time.Hour))
				h.start()
			}
			h.setClock(h.now().Add(time.Microsecond))
			h.tick(h.now())
			h.pending(v, 0)
			if answer := <-m.guest.answers; answer.Decision != c.decision {
				t.Errorf("the guest was told %+v", answer)
			}
			h.waitRun(v, run, session.RunRunning)
			got := h.received(v)
			last := got[len(got)-1]
			if approval.Outcome(last.Outcome) != c.outcome || last.Actor != actorSystem || last.Reason != "the deadline passed: nobody answered within "+c.timeout.String() {
				t.Errorf("the history says %+v", last)
			}
			if c.outcome == approval.OutcomeReject {
				for _, later := range []approval.Outcome{approval.OutcomeApprove, approval.OutcomeReject} {
					err := h.Answer(ctx, h.team, v.Name, a.ID.String(), Answer{Outcome: later})
					wantFault(t, err, fault.Conflict, "already expired")
				}
			}
			n := len(h.history(v))
			h.tick(h.now())
			if len(h.history(v)) != n {
				t.Error("it was decided twice")
			}
		})
	}
}
