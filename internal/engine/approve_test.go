package engine

import (
	"context"
	"slices"
	"testing"

	"paddock/internal/approval"
	"paddock/internal/event"
	"paddock/internal/fault"
	"paddock/internal/guestapi"
	"paddock/internal/id"
	"paddock/internal/session"
)

func TestApprovals(t *testing.T) {
	h := newHouse(t)
	ctx := context.Background()
	v, m, run := h.working(demoSpec)
	m.guest.report(t, run, guestapi.ReportAsk, "", guestapi.Ask{Key: "k1", Action: event.ActionBash, Details: event.AskDetails{Tool: "bash", Command: "ls"}})
	h.waitRun(v, run, session.RunAwaiting)
	open, err := h.Approvals(ctx, h.team, v.Name, true)
	if err != nil || len(open) != 1 {
		t.Fatal(open, err)
	}
	aid := open[0].ID.String()
	h.stop()
	h.start()
	if err := h.Answer(ctx, h.team, v.Name, aid, Answer{Outcome: approval.OutcomeReject, Reason: "no", Actor: "me"}); err != nil {
		t.Fatal(err)
	}
	if a := <-m.guest.answers; a.Decision != guestapi.Deny || a.Reason != "no" {
		t.Errorf("guest was told %+v", a)
	}
	h.waitRun(v, run, session.RunRunning)
	if err := h.Answer(ctx, h.team, v.Name, aid, Answer{Outcome: approval.OutcomeReject}); err != nil {
		t.Errorf("the same answer again: %v", err)
	}
	wantFault(t, h.Answer(ctx, h.team, v.Name, aid, Answer{Outcome: approval.OutcomeApprove}), fault.Conflict, "already rejected")
	wantFault(t, h.Answer(ctx, h.team, v.Name, id.New[id.Approval]().String(), Answer{Outcome: approval.OutcomeApprove}), fault.NotFound, "no approval")
	wantFault(t, h.Answer(ctx, h.team, v.Name, aid, Answer{Outcome: "yes"}), fault.BadRequest, "HITL_OUTCOME_APPROVE")
	m.guest.endTurn(t, run, guestapi.End{Outcome: guestapi.EndCompleted})
	want := []event.Kind{event.RunStarted, event.HumanInputRequested, event.HumanInputReceived, event.RunCompleted}
	if got := kinds(h.history(v), run); !slices.Equal(got, want) {
		t.Errorf("events are %v", got)
	}
}

func TestPolicyDecidesAtOnce(t *testing.T) {
	for mode, want := range map[string]guestapi.Decision{"allow": guestapi.Allow, "deny": guestapi.Deny} {
		t.Run(mode, func(t *testing.T) {
			h := newHouse(t)
			v, m, run := h.working(demoSpec + "permissions: {default: " + mode + "}\n")
			m.guest.report(t, run, guestapi.ReportAsk, "", guestapi.Ask{Key: "k", Action: event.ActionBash, Details: event.AskDetails{Command: "ls"}})
			if a := <-m.guest.answers; a.Decision != want {
				t.Errorf("guest was told %+v", a)
			}
			denied := slices.Contains(kinds(h.history(v), run), event.PolicyDenied)
			if denied != (mode == "deny") {
				t.Errorf("policy.denied written: %v", denied)
			}
			m.guest.report(t, run, guestapi.ReportAsk, "", guestapi.Ask{Key: "q", Action: event.ActionUnspecified, Details: event.AskDetails{Question: "Which colour?"}})
			h.waitRun(v, run, session.RunAwaiting) // a question goes to a person
			if all, err := h.Approvals(context.Background(), h.team, v.Name, false); err != nil || len(all) != 1 || all[0].Key != "q" {
				t.Errorf("people were asked %+v, %v", all, err)
			}
		})
	}
}

// An agent that stands still elsewhere is told that a person is asked; one that
// cannot wait is told that one would have to be, and nobody is asked.
func TestAskThatDoesNotWaitHere(t *testing.T) {
	h := newHouse(t)
	v, m, run := h.working(demoSpec)
	report := func(key string, wait guestapi.AskWait) {
		m.guest.report(t, run, guestapi.ReportAsk, "", guestapi.Ask{Key: key, Action: event.ActionBash, Details: event.AskDetails{Command: "ls"}, Wait: wait})
		if a := <-m.guest.answers; a.Decision != guestapi.Wait || (a.Reason == "") != (wait == guestapi.WaitElsewhere) {
			t.Errorf("%s: guest was told %+v", wait, a)
		}
	}
	report("k1", guestapi.WaitNever)
	h.pending(v, 0)
	report("k2", guestapi.WaitElsewhere)
	a := h.pending(v, 1)[0]
	if err := h.Answer(context.Background(), h.team, v.Name, a.ID.String(), Answer{Outcome: approval.OutcomeApprove}); err != nil {
		t.Fatal(err)
	}
	if a := <-m.guest.answers; a.Decision != guestapi.Allow {
		t.Errorf("guest was told %+v", a)
	}
	want := []event.Kind{event.RunStarted, event.PolicyDenied, event.HumanInputRequested, event.HumanInputReceived}
	if got := kinds(h.history(v), run); !slices.Equal(got, want) {
		t.Errorf("events are %v", got)
	}
}
