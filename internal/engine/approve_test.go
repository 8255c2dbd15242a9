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
