package engine

import (
	"paddock/internal/approval"
	"paddock/internal/session"
	"paddock/internal/tracing"
)

// The spans of runs and of approvals are made when these have ended, from what is
// stored: a run outlives servers.

// traceRun tells of a run that has ended, once the change is durable.
func (e *Engine) traceRun(c *change, r session.Run) {
	if e.trace == nil || r.Trace == "" {
		return
	}
	agent := c.s.Adapter
	c.later(func() {
		trail := tracing.Trail(r.Trace)
		began := r.StartedAt
		if began.IsZero() {
			began = r.EndedAt // it was never its turn
		}
		about := []tracing.Attr{
			tracing.Session(r.Session.String()), tracing.Run(r.ID.String()), tracing.Agent(agent), tracing.Outcome(string(r.State)),
			tracing.QueueSeconds(began.Sub(r.CreatedAt).Seconds()),
		}
		if r.State == session.RunFailed && r.Failure != nil {
			about = append(about, tracing.Problem(r.Failure.Code.Name()))
		}
		e.trace.RecordBelow(trail, "queue", r.CreatedAt, began, false, tracing.Session(r.Session.String()), tracing.Run(r.ID.String()))
		e.trace.Record(trail, "run", r.CreatedAt, r.EndedAt, r.State == session.RunFailed, about...)
	})
}

// traceApproval tells how long something waited for a person, once the change is
// durable.
func (e *Engine) traceApproval(c *change, a approval.Approval) error {
	if e.trace == nil {
		return nil
	}
	r, err := c.tx.Run(c.ctx, c.s.ID, a.Run)
	if err != nil {
		return err
	}
	c.later(func() {
		e.trace.RecordBelow(tracing.Trail(r.Trace), "approval", a.At, a.EndedAt, false, tracing.Session(a.Session.String()),
			tracing.Run(a.Run.String()), tracing.Approval(a.ID.String()), tracing.Outcome(string(a.State)))
	})
	return nil
}
