package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"paddock/internal/event"
	"paddock/internal/fault"
	"paddock/internal/guestapi"
	"paddock/internal/id"
	"paddock/internal/session"
	"paddock/internal/store"
)

// reporter is what a machine's guest sees of the engine. What it hands over is
// untrusted: a report that makes no sense is dropped and noted, never believed.
type reporter struct{ *machine }

// Report stores a batch, with everything that follows from it, in one
// transaction with the guest's cursor.
func (m reporter) Report(ctx context.Context, batch guestapi.Batch) (guestapi.Ack, error) {
	ack := guestapi.Ack{Epoch: batch.Epoch}
	err := m.engine.change(ctx, m.session, func(c *change) error {
		row, err := c.machine()
		if err != nil {
			return err
		}
		if row == nil {
			return store.ErrNotFound
		}
		if batch.Epoch != row.Epoch {
			return fault.New(fault.Conflict, "epoch is %d, not %d", row.Epoch, batch.Epoch)
		}
		for _, r := range batch.Reports {
			if r.N <= row.Ack {
				continue
			}
			if r.N != row.Ack+1 {
				return fault.New(fault.Conflict, "report %d after %d", r.N, row.Ack)
			}
			row.Ack = r.N
			if err := m.take(c, r); err != nil {
				return fmt.Errorf("report %d: %w", r.N, err)
			}
		}
		ack.N = row.Ack
		return c.saveMachine()
	})
	if err != nil {
		return guestapi.Ack{}, err
	}
	m.touch()
	if slices.ContainsFunc(batch.Reports, func(r guestapi.Report) bool { return r.Run != "" }) {
		m.listenAfter(silenceLimit)
	}
	return ack, nil
}

// take applies one report. An error is the store's; nonsense is dropped.
func (m reporter) take(c *change, r guestapi.Report) error {
	asked := r // as it is: the policy decides what would be done, and a stream is hidden as a whole
	r.Data, r.SourceRaw = c.veil.JSON(r.Data), c.veil.Bytes(r.SourceRaw)
	if r.Type == guestapi.ReportEvent && r.Kind == event.RunLog && r.Run == "" {
		m.record(c, id.Run{}, r)
		return nil
	}
	run, err := m.activeRun(c, r)
	if err != nil || run == nil {
		return err
	}
	if r.Type == guestapi.ReportEvent && r.Kind == event.TokenDelta {
		asked.SourceRaw = r.SourceRaw
		return m.tell(c, run, asked)
	}
	if err := m.engine.showHeld(c); err != nil {
		return err
	}
	switch r.Type {
	case guestapi.ReportEvent:
		m.record(c, run.ID, r)
		c.later(func() { m.calls.note(r.Kind, r.Data, c.now) })
		return account(c, run, r)
	case guestapi.ReportAsk:
		var q guestapi.Ask
		if err := json.Unmarshal(asked.Data, &q); err != nil || q.Key == "" {
			m.drop(r, "ask cannot be read")
			return nil
		}
		return m.engine.asked(c, run, q, r)
	case guestapi.ReportEnd:
		var end guestapi.End
		if err := json.Unmarshal(r.Data, &end); err != nil {
			end = guestapi.End{Outcome: guestapi.EndFailed, Code: event.Internal, Message: "the end of the turn cannot be read"}
		}
		end.Text = c.veil.Cut(end.Text)
		if end.Outcome == guestapi.EndFailed && end.Code == event.Internal && m.outOfMemory() {
			end.Message += "; the machine was out of memory, and the host's kernel ended processes of it"
		}
		return m.engine.turnEnded(c, run, end)
	default:
		m.drop(r, "unknown type")
		return nil
	}
}

// activeRun gives the run a report speaks of, if that is the active one.
func (m reporter) activeRun(c *change, r guestapi.Report) (*session.Run, error) {
	run, err := c.active()
	if err != nil {
		return nil, err
	}
	if run == nil || run.ID.String() != r.Run {
		m.drop(r, "its run is not the active one") // what trails a run that we ended
		return nil, nil
	}
	return run, nil
}

func (m reporter) record(c *change, run id.Run, r guestapi.Report) {
	if !slices.Contains(guestapi.GuestKinds, r.Kind) || !isObject(r.Data) {
		m.drop(r, "not an event that a guest may report")
		return
	}
	c.drafts = append(c.drafts, event.Draft{Run: run, Kind: r.Kind, Data: r.Data, SourceType: r.SourceType, SourceRaw: r.SourceRaw})
}

func isObject(b json.RawMessage) bool { return len(b) > 0 && b[0] == '{' && json.Valid(b) }

func (m reporter) drop(r guestapi.Report, why string) {
	m.engine.log.Debug("report dropped", "session_id", m.session, "n", r.N, "type", r.Type, "kind", r.Kind, "reason", why)
}

// account adds what a report says was used to the run, which tells it also when
// it fails.
func account(c *change, run *session.Run, r guestapi.Report) error {
	var more session.Usage
	switch r.Kind {
	case event.UsageRecorded:
		var u event.Usage
		if json.Unmarshal(r.Data, &u) != nil {
			return nil
		}
		more.TokensIn, more.TokensOut = max(0, u.Usage.Input), max(0, u.Usage.Output)
	case event.CostAccrued:
		var cost event.Cost
		if json.Unmarshal(r.Data, &cost) != nil {
			return nil
		}
		more.CostMicros = max(0, cost.DeltaMicros)
	default:
		return nil
	}
	c.used(run, run.Usage.Plus(more))
	return c.tx.SaveRun(*run)
}

// used says what the run used so far, and with it the session.
func (c *change) used(run *session.Run, all session.Usage) {
	c.s.Usage, c.dirty = c.s.Usage.Plus(all.Minus(run.Usage)), true
	run.Usage = all
}

// turnEnded ends the active run as the guest reports it. Totals at the end are
// better than what was added up on the way.
func (e *Engine) turnEnded(c *change, run *session.Run, end guestapi.End) error {
	total := run.Usage
	if end.TokensIn > 0 || end.TokensOut > 0 {
		total.TokensIn, total.TokensOut = max(0, end.TokensIn), max(0, end.TokensOut)
	}
	if end.CostMicros > 0 {
		total.CostMicros = end.CostMicros
	}
	c.used(run, total)
	run.StopReason = end.StopReason
	switch end.Outcome {
	case guestapi.EndCompleted:
		return e.completeRun(c, run, end)
	case guestapi.EndCancelled:
		return e.endRun(c, run, session.RunCancel, cancelledBy(run.CancelledBy))
	default:
		if end.Code < event.ModelError || end.Code > event.Internal {
			end.Code = event.Internal
		}
		if end.Message == "" {
			end.Message = "the agent failed without saying why"
		}
		return e.failActive(c, run, event.Failed{Code: end.Code, Message: end.Message, Terminal: true})
	}
}
