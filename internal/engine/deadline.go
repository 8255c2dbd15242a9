package engine

import (
	"context"
	"fmt"
	"time"

	"paddock/internal/approval"
	"paddock/internal/id"
)

// dueAtOnce is how many approvals each look at the clock decides at most.
const dueAtOnce = 64

// timeOutApprovals decides what nobody answered in time, as its environment says.
func (e *Engine) timeOutApprovals(now time.Time) {
	due, err := e.store.DueApprovals(e.ctx, now, dueAtOnce)
	if err != nil {
		if e.ctx.Err() == nil {
			e.log.Error("look for overdue approvals", "error", err)
		}
		return
	}
	for _, a := range due {
		if err := e.timeOut(e.ctx, a.Session, a.ID); err != nil && e.ctx.Err() == nil {
			e.log.Error("end overdue approval", "session_id", a.Session, "hitl_id", a.ID, "error", err)
		}
	}
}

// timeOut decides one approval whose deadline has come, unless somebody was
// quicker. A question for an answer cannot be answered by a clock: it is rejected.
// What is rejected so has expired, and takes no later answer, nor the same again.
func (e *Engine) timeOut(ctx context.Context, sid id.Session, aid id.Approval) error {
	return e.change(ctx, sid, func(c *change) error {
		a, err := c.tx.Approval(ctx, sid, aid)
		if err != nil {
			return err
		}
		if !a.State.Open() {
			return errNoChange
		}
		env, err := c.tx.Environment(ctx, c.s.Environment)
		if err != nil {
			return err
		}
		outcome := approval.OutcomeReject
		a.State = approval.Expired
		if env.Spec.Approvals.Complete().OnTimeout == "approve" && a.Asked.Details.Question == "" {
			outcome = approval.OutcomeApprove
			a.State = approval.Approved
		}
		a.Actor, a.Reason = actorSystem, fmt.Sprintf("the deadline passed: nobody answered within %s", a.Deadline.Sub(a.At).Round(time.Second))
		return e.settle(c, a, outcome, nil)
	})
}
