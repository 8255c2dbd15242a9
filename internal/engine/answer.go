package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"paddock/internal/approval"
	"paddock/internal/event"
	"paddock/internal/fault"
	"paddock/internal/guestapi"
	"paddock/internal/id"
	"paddock/internal/session"
)

// Answer settles an approval, once: the same answer again is no error, another
// one is Conflict. Deferring leaves it waiting.
func (e *Engine) Answer(ctx context.Context, team id.Team, ref, hitl string, answer Answer) error {
	if err := answer.check(); err != nil {
		return err
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
		state := approval.States[answer.Outcome]
		switch {
		case a.State == state && answer.repeats(a):
			return errNoChange
		case a.State == state && !state.Open():
			return fault.New(fault.Conflict, "approval %s is already %s, with another input or for another time", aid, a.State)
		case !a.State.Open():
			return fault.New(fault.Conflict, "approval %s is already %s", aid, a.State)
		}
		if len(answer.Input) > 0 {
			if err := e.allowsEdit(c, a, answer.Input); err != nil {
				return err
			}
		}
		a.State, a.Input, a.Actor, a.Reason = state, answer.Input, answer.Actor, answer.Reason
		if answer.ForSession {
			if a.Grant, err = e.grant(c, a); err != nil {
				return err
			}
		}
		return e.settle(c, a, answer.Outcome, answer.Content)
	})
}

// check refuses an answer that fits no question, and brings its input into one
// form.
func (a *Answer) check() error {
	state, ok := approval.States[a.Outcome]
	if !ok {
		return fault.New(fault.BadRequest, "outcome is HITL_OUTCOME_APPROVE, HITL_OUTCOME_REJECT or HITL_OUTCOME_DEFER, not %q", a.Outcome)
	}
	if (len(a.Input) > 0 || a.ForSession) && state != approval.Approved {
		return fault.New(fault.BadRequest, "an edited input and the rest of the session go with HITL_OUTCOME_APPROVE only")
	}
	if len(a.Input) == 0 {
		return nil
	}
	if a.ForSession {
		return fault.New(fault.BadRequest, "what was edited is approved once; approve it for the rest of the session when the agent asks for it")
	}
	var compact bytes.Buffer
	if !isObject(bytes.TrimSpace(a.Input)) || json.Compact(&compact, a.Input) != nil {
		return fault.New(fault.BadRequest, "input is not a JSON object; give the tool's whole input as it is to be")
	}
	a.Input = compact.Bytes()
	return nil
}

// repeats says whether the answer is the one that an approval of the same state
// was given.
func (a Answer) repeats(given approval.Approval) bool {
	return bytes.Equal(a.Input, given.Input) && a.ForSession == !given.Grant.IsZero()
}

// settle answers an open approval: in the store, in the history, to the guest,
// and for the run, which goes on when nothing in it waits any more. State, Actor
// and Reason are set.
func (e *Engine) settle(c *change, a approval.Approval, outcome approval.Outcome, content map[string]any) error {
	if !a.State.Open() {
		a.EndedAt = c.now
	}
	if err := c.tx.SaveApproval(a); err != nil {
		return err
	}
	c.emit(a.Run, event.HumanInputReceived, answeredAs(a, outcome))
	if a.State.Open() {
		return nil
	}
	c.later(func() { e.sendAnswer(a, content) })
	if err := e.traceApproval(c, a); err != nil {
		return err
	}
	return e.answered(c, a)
}

func answeredAs(a approval.Approval, outcome approval.Outcome) event.Answered {
	return event.Answered{
		HITLID: a.ID.String(), Outcome: string(outcome), Actor: a.Actor, Reason: a.Reason, Input: a.Input, GrantID: a.Grant.String(),
	}
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
	e.tell(a, guestAnswer(a, content))
}

// tell gives the guest an answer, in the background.
func (e *Engine) tell(a approval.Approval, answer guestapi.Answer) {
	m := e.machineOf(a.Session)
	if m == nil {
		return
	}
	e.spawn(func(ctx context.Context) {
		_, err := ask(ctx, m, func(g guestapi.Guest) (struct{}, error) {
			return struct{}{}, g.Answer(ctx, a.Key, answer)
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
	return guestapi.Answer{Decision: guestapi.Allow, Reason: a.Reason, Content: content, Input: a.Input}
}
