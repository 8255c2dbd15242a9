package engine

import (
	"encoding/json"
	"fmt"
	"time"

	"paddock/internal/approval"
	"paddock/internal/event"
	"paddock/internal/guestapi"
	"paddock/internal/id"
	"paddock/internal/policy"
	"paddock/internal/session"
)

// maxOpenAsks is how many questions of one run may wait for people: an agent that
// asks without end does not fill the store.
const maxOpenAsks = 64

// asked records what the agent asks and decides it, by policy or by raising an
// approval. A question for an answer always goes to a person: the policy
// decides what may be done, not what people know. The policy sees what is asked as
// it is; what is stored of it has no values of secrets.
func (e *Engine) asked(c *change, run *session.Run, q guestapi.Ask, r guestapi.Report) error {
	env, err := c.tx.Environment(c.ctx, c.s.Environment)
	if err != nil {
		return err
	}
	a := approval.Approval{ID: id.New[id.Approval](), Team: c.s.Team, Session: c.s.ID, Run: run.ID, Key: q.Key, State: approval.Pending, At: c.now}
	var seen guestapi.Ask
	if err := json.Unmarshal(r.Data, &seen); err != nil {
		return err
	}
	a.Asked = event.Asked{HITLID: a.ID.String(), ToolCallID: seen.ToolCallID, Action: seen.Action, Details: seen.Details, Payload: seen.Payload}
	if q.Details.Question == "" {
		switch v := judge(env.Spec, q); v.Action {
		case policy.Allow:
			return e.decideByPolicy(c, a, approval.Approved, "")
		case policy.Deny:
			c.emit(run.ID, event.PolicyDenied, v.denied(q))
			return e.decideByPolicy(c, a, approval.Rejected, "denied by policy: "+v.why)
		default:
			a.Asked.Details.Because = v.why
		}
		if decided, err := e.decideByGrant(c, a); err != nil || decided {
			return err
		}
		if q.Wait == guestapi.WaitNever {
			why := a.Asked.Details.Because + " (this agent cannot wait for a person here)"
			c.emit(run.ID, event.PolicyDenied, deniedBy(q, why))
			c.later(func() { e.tell(a, guestapi.Answer{Decision: guestapi.Wait, Reason: a.Asked.Details.Because}) })
			return nil
		}
	}
	open, err := c.tx.Approvals(c.ctx, c.s.ID, true)
	if err != nil {
		return err
	}
	if len(open) >= maxOpenAsks {
		why := fmt.Sprintf("%d questions wait already", len(open))
		c.emit(run.ID, event.PolicyDenied, deniedBy(q, why))
		return e.decideByPolicy(c, a, approval.Rejected, why)
	}
	if run.State == session.RunRunning {
		if run.State, err = run.State.On(session.RunAsk); err != nil {
			return err
		}
		run.AwaitingSince = c.now
		if err := c.tx.SaveRun(*run); err != nil {
			return err
		}
	}
	a.Deadline = c.now.Add(env.Spec.Approvals.Complete().Timeout)
	a.Asked.Deadline = &a.Deadline
	draft := event.NewDraft(run.ID, event.HumanInputRequested, a.Asked)
	draft.SourceType, draft.SourceRaw = r.SourceType, r.SourceRaw
	c.drafts = append(c.drafts, draft)
	c.later(func() { e.clockRun(c.s.ID, time.Time{}) })
	if q.Wait == guestapi.WaitElsewhere {
		c.later(func() { e.tell(a, guestapi.Answer{Decision: guestapi.Wait}) })
	}
	return c.tx.SaveApproval(a)
}

func (e *Engine) decideByPolicy(c *change, a approval.Approval, state approval.State, why string) error {
	a.State, a.Actor, a.Reason, a.EndedAt = state, actorPolicy, c.veil.Text(why), c.now
	c.later(func() { e.sendAnswer(a, nil) })
	return c.tx.SaveApproval(a)
}

func deniedBy(q guestapi.Ask, why string) event.Denied {
	return event.Denied{Rule: why, Tool: q.Details.Tool, Detail: q.Details.Gist()}
}
