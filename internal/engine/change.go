package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"paddock/internal/event"
	"paddock/internal/failpoint"
	"paddock/internal/fault"
	"paddock/internal/id"
	"paddock/internal/redaction"
	"paddock/internal/session"
	"paddock/internal/store"
)

// errStopping answers calls that a stopping server leaves unfinished.
var errStopping = fault.New(fault.Unavailable, "the server is stopping; try again in a moment")

// errNoChange ends a change that turned out to have nothing to do.
var errNoChange = errors.New("nothing to change")

// change is one transaction on one session: its fresh row, the events that go
// with it, and what is to be done once it is durable.
type change struct {
	tx     store.Tx
	ctx    context.Context
	now    time.Time
	s      session.Session
	dirty  bool
	drafts []event.Draft
	begun  time.Time // when the events were appended
	after  []func()
	tell   []*courier      // who is told of what happens
	veil   *redaction.Veil // hides the values of the session's secrets; nil: there are none
	row    *store.Machine  // the session's, once it was read
}

// change runs fn on the fresh row of a session. When fn returns nil the row and
// the events are committed, published, and what fn put off is done; errNoChange
// commits nothing and is no error.
//
// A caller who leaves before fn has run leaves nothing behind. One who leaves
// during the commit is waited for: what is durable has to be published and
// followed up, or a session would wait for something that nobody does.
func (e *Engine) change(ctx context.Context, sid id.Session, fn func(c *change) error) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	var c change
	var last event.Event
	err := e.store.Update(context.WithoutCancel(ctx), func(tx store.Tx) error {
		c = change{tx: tx, ctx: ctx, now: e.now(), tell: e.couriers}
		s, err := tx.SessionByID(ctx, sid)
		if err != nil {
			return fmt.Errorf("read session: %w", err)
		}
		c.s = s
		if c.veil, err = e.veil(ctx, tx, s.Environment); err != nil {
			return err
		}
		if err := fn(&c); err != nil {
			return err
		}
		last, err = c.write(e.historyLimit)
		return err
	})
	if errors.Is(err, errNoChange) {
		return nil
	}
	if err != nil {
		return err
	}
	failpoint.Hit("engine.committed")
	e.publish(c.s, last)
	if len(c.drafts) > 0 {
		e.metrics.Lag(time.Since(c.begun))
	}
	for _, fn := range c.after {
		fn()
	}
	return nil
}

// publish tells readers of a session's new row and of its last new event, if
// there is one.
func (e *Engine) publish(s session.Session, last event.Event) {
	e.hub.publish(s.ID, last.Seq, s.State.Final())
	e.teams.publish(s.Team, last.Place, false)
}

// write stores the row and appends the events; it gives the last of them. What
// makes a history too large pays for it: trimBatch events of the past, and two
// for each new one, so that trimming keeps up and no append waits long for it.
func (c *change) write(limit int64) (last event.Event, err error) {
	if c.dirty {
		if err := c.tx.UpdateSession(&c.s); err != nil {
			return last, fmt.Errorf("store session: %w", err)
		}
	}
	if len(c.drafts) == 0 {
		return last, nil
	}
	for i := range c.drafts {
		d := &c.drafts[i]
		d.Data, d.SourceRaw = c.veil.JSON(d.Data), c.veil.Bytes(d.SourceRaw)
	}
	c.begun = time.Now()
	events, err := c.tx.Append(c.s.ID, c.now, c.drafts...)
	if err != nil {
		return last, fmt.Errorf("append events: %w", err)
	}
	if err := c.notice(events); err != nil {
		return last, fmt.Errorf("store notices: %w", err)
	}
	last = events[len(events)-1]
	size := c.s.History
	for _, e := range events {
		size += int64(len(e.Data) + len(e.SourceRaw))
	}
	if limit <= 0 || size <= limit {
		return last, nil
	}
	return last, c.tx.TrimHistory(c.s.ID, limit, trimBatch+2*len(events))
}

const trimBatch = 64

// move takes the session along its table and says so in its history.
func (c *change) move(cause session.Cause, message string) error {
	next, err := c.s.State.On(cause)
	if err != nil {
		return fault.Wrap(err, fault.Conflict, "%s", notNow(c.s))
	}
	c.s.State, c.dirty = next, true
	c.s.Deadline = time.Time{}
	if next != session.Paused {
		c.s.PauseReason = ""
	}
	if next != session.Ready {
		c.s.PausePending = ""
	}
	if next == session.Failed || next == session.Destroyed {
		c.s.EndedAt = c.now
	}
	c.emit(id.Run{}, event.SessionUpdated, event.SessionState{
		Status: next.Wire(), PauseReason: string(c.s.PauseReason), Message: message,
	})
	return nil
}

// emit adds an event to the history.
func (c *change) emit(run id.Run, kind event.Kind, payload any) {
	c.drafts = append(c.drafts, event.NewDraft(run, kind, payload))
}

// later does fn once the change is durable and published.
func (c *change) later(fn func()) { c.after = append(c.after, fn) }

// active gives the run that is running or waits for a person, nil at a boundary.
func (c *change) active() (*session.Run, error) { return activeRun(c.ctx, c.tx, c.s.ID) }

func activeRun(ctx context.Context, r store.Reader, sid id.Session) (*session.Run, error) {
	runs, err := r.Runs(ctx, store.RunFilter{Session: sid, States: []session.RunState{session.RunRunning, session.RunAwaiting}, Limit: 1})
	if err != nil || len(runs) == 0 {
		return nil, err
	}
	return &runs[0], nil
}

// notNow says in a sentence why a session cannot do what it is asked.
func notNow(s session.Session) string {
	switch s.State {
	case session.Provisioning:
		return fmt.Sprintf("session %s is not ready yet; try again when it is", s.Name)
	case session.Updating:
		return fmt.Sprintf("session %s is being restored; try again when it is ready", s.Name)
	case session.Paused:
		return fmt.Sprintf("session %s is paused (%s); resume it first", s.Name, s.PauseReason)
	case session.Destroying, session.Destroyed:
		return fmt.Sprintf("session %s is removed; start a new session", s.Name)
	case session.Failed:
		return fmt.Sprintf("session %s has failed: %s; start a new session", s.Name, s.Reason)
	default:
		return fmt.Sprintf("session %s is ready", s.Name)
	}
}
