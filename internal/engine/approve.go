package engine

import (
	"context"
	"fmt"
	"time"

	"paddock/internal/approval"
	"paddock/internal/event"
	"paddock/internal/fault"
	"paddock/internal/guestapi"
	"paddock/internal/id"
	"paddock/internal/session"
)

// maxOpenAsks is how many questions of one run may wait for people: an agent that
// asks without end does not fill the store.
const maxOpenAsks = 64

// asked records what the agent asks and decides it, by policy or by raising an
// approval. A question for an answer always goes to a person: the policy
// decides what may be done, not what people know.
func (e *Engine) asked(c *change, run *session.Run, q guestapi.Ask, r guestapi.Report) error {
	env, err := c.tx.Environment(c.ctx, c.s.Environment)
	if err != nil {
		return err
	}
	a := approval.Approval{ID: id.New[id.Approval](), Session: c.s.ID, Run: run.ID, Key: q.Key, State: approval.Pending, At: c.now}
	a.Asked = event.Asked{HITLID: a.ID.String(), ToolCallID: q.ToolCallID, Action: q.Action, Details: q.Details, Payload: q.Payload}
	if q.Details.Question == "" {
		switch env.Spec.Permissions.Default {
		case "allow":
			return e.decideByPolicy(c, a, approval.Approved, "")
		case "deny":
			const why = "permissions.default is deny"
			c.emit(run.ID, event.PolicyDenied, deniedBy(q, why))
			return e.decideByPolicy(c, a, approval.Rejected, why)
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
	draft := event.NewDraft(run.ID, event.HumanInputRequested, a.Asked)
	draft.SourceType, draft.SourceRaw = r.SourceType, r.SourceRaw
	c.drafts = append(c.drafts, draft)
	c.later(func() { e.clockRun(c.s.ID, time.Time{}) })
	return c.tx.SaveApproval(a)
}

func (e *Engine) decideByPolicy(c *change, a approval.Approval, state approval.State, why string) error {
	a.State, a.Actor, a.Reason, a.EndedAt = state, actorPolicy, why, c.now
	c.later(func() { e.sendAnswer(a, nil) })
	return c.tx.SaveApproval(a)
}

func deniedBy(q guestapi.Ask, why string) event.Denied {
	detail := q.Details.Command
	for _, d := range []string{q.Details.Path, q.Details.Title} {
		if detail == "" {
			detail = d
		}
	}
	return event.Denied{Rule: why, Tool: q.Details.Tool, Detail: detail}
}

// Answer settles an approval, once: the same outcome again is no error, another
// one is Conflict. Deferring leaves it waiting.
func (e *Engine) Answer(ctx context.Context, team id.Team, ref, hitl string, answer Answer) error {
	state, ok := approval.States[answer.Outcome]
	if !ok || state == approval.Expired {
		return fault.New(fault.BadRequest, "outcome is HITL_OUTCOME_APPROVE, HITL_OUTCOME_REJECT or HITL_OUTCOME_DEFER, not %q", answer.Outcome)
	}
	s, err := e.find(ctx, team, ref)
	if err != nil {
		return err
	}
	aid, err := id.Parse[id.Approval](hitl)
	if err != nil {
		return fault.New(fault.NotFound, "session %s has no approval %s", s.Name, hitl)
	}
	return e.change(ctx, s.ID, func(c *change) error {
		a, err := c.tx.Approval(ctx, s.ID, aid)
		if err != nil {
			return absent(err, "session %s has no approval %s", s.Name, hitl)
		}
		if a.State == state {
			return errNoChange
		}
		if !a.State.Open() {
			return fault.New(fault.Conflict, "approval %s is already %s", aid, a.State)
		}
		a.State, a.Actor, a.Reason = state, answer.Actor, answer.Reason
		if !state.Open() {
			a.EndedAt = c.now
		}
		if err := c.tx.SaveApproval(a); err != nil {
			return err
		}
		c.emit(a.Run, event.HumanInputReceived, event.Answered{HITLID: hitl, Outcome: string(answer.Outcome), Actor: answer.Actor, Reason: answer.Reason})
		if state.Open() {
			return nil
		}
		c.later(func() { e.sendAnswer(a, answer.Content) })
		return e.answered(c, a)
	})
}

// answered lets the run go on when nothing in it waits any more. The time that
// people took does not count toward its limit.
func (e *Engine) answered(c *change, a approval.Approval) error {
	open, err := c.tx.Approvals(c.ctx, c.s.ID, true)
	if err != nil || len(open) > 0 {
		return err
	}
	run, err := c.tx.Run(c.ctx, c.s.ID, a.Run)
	if err != nil || run.State != session.RunAwaiting {
		return err
	}
	if run.State, err = run.State.On(session.RunAnswer); err != nil {
		return err
	}
	run.Deadline = run.Deadline.Add(c.now.Sub(run.AwaitingSince))
	run.AwaitingSince = time.Time{}
	c.later(func() { e.clockRun(c.s.ID, run.Deadline) })
	return c.tx.SaveRun(run)
}

// sendAnswer tells the guest, in the background. If that fails it is told again
// when it is back (repeatAnswers).
func (e *Engine) sendAnswer(a approval.Approval, content map[string]any) {
	m := e.machineOf(a.Session)
	if m == nil {
		return
	}
	e.spawn(func(ctx context.Context) {
		_, err := ask(ctx, m, func(g guestapi.Guest) (struct{}, error) {
			return struct{}{}, g.Answer(ctx, a.Key, guestAnswer(a, content))
		})
		if err != nil && ctx.Err() == nil {
			e.log.Warn("tell answer to guest", "session_id", a.Session, "hitl_id", a.ID, "error", err)
		}
	})
}

// repeatAnswers tells a guest that was away every answer of its run.
func (e *Engine) repeatAnswers(ctx context.Context, m *machine, run id.Run) {
	all, err := e.store.Approvals(ctx, m.session, false)
	if err != nil {
		e.log.Error("read approvals", "session_id", m.session, "error", err)
		return
	}
	for _, a := range all {
		if a.Run == run && !a.State.Open() {
			e.sendAnswer(a, nil)
		}
	}
}

// guestAnswer is a settled approval in the guest's words. The content of a form
// is not stored, so a question whose answer was lost with a killed server is
// given back to the agent as not answered.
func guestAnswer(a approval.Approval, content map[string]any) guestapi.Answer {
	if a.State != approval.Approved {
		return guestapi.Answer{Decision: guestapi.Deny, Reason: a.Reason}
	}
	if a.Asked.Details.Question != "" && content == nil {
		return guestapi.Answer{Decision: guestapi.Deny, Reason: "the person agreed to answer, but gave no content"}
	}
	return guestapi.Answer{Decision: guestapi.Allow, Reason: a.Reason, Content: content}
}

// Approvals lists a session's approvals, oldest first; only those that wait for
// a person when pending is set.
func (e *Engine) Approvals(ctx context.Context, team id.Team, ref string, pending bool) ([]approval.Approval, error) {
	s, err := e.find(ctx, team, ref)
	if err != nil {
		return nil, err
	}
	list, err := e.store.Approvals(ctx, s.ID, pending)
	if err != nil {
		return nil, fmt.Errorf("list approvals: %w", err)
	}
	return list, nil
}
