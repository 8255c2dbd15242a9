package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"paddock/internal/event"
	"paddock/internal/guestapi"
	"paddock/internal/id"
	"paddock/internal/redaction"
	"paddock/internal/session"
	"paddock/internal/store"
)

const (
	// heldPatience is how long the end of a text that may be the beginning of a
	// secret's value is held back when nothing more comes.
	heldPatience = 2 * time.Second
	// heldRaw is how many bytes of a value a native frame may show that another
	// one completes; one with more is not kept.
	heldRaw = 3
)

// heldText is the end of a run's text that is held back: it may be the beginning
// of a value. It is stored, sealed, with the cursor of the report that it came in.
type heldText struct {
	Run       id.Run         `json:"run"`
	Reasoning bool           `json:"reasoning,omitempty"`
	Tail      redaction.Tail `json:"tail"`
}

// tell records a piece of the agent's text, but for what may be the beginning of
// a value.
func (m reporter) tell(c *change, run *session.Run, r guestapi.Report) error {
	var piece event.Delta
	if c.veil == nil || json.Unmarshal(r.Data, &piece) != nil {
		m.record(c, run.ID, r)
		return nil
	}
	held, err := m.engine.heldOf(c)
	if err != nil {
		return err
	}
	if held.Run != run.ID || held.Reasoning != piece.IsReasoning {
		if err := m.engine.showHeld(c); err != nil {
			return err
		}
		held = heldText{Run: run.ID, Reasoning: piece.IsReasoning}
	}
	before := len(held.Tail.Text)
	out, tail := c.veil.Continue(held.Tail, piece.Text)
	if out != piece.Text {
		r.Data = event.NewDraft(run.ID, event.TokenDelta, event.Delta{Text: out, IsReasoning: piece.IsReasoning}).Data
	}
	if max(before, len(tail.Text)) > heldRaw {
		r.SourceRaw = nil
	}
	if out != "" || piece.Text == "" {
		m.record(c, run.ID, r)
	}
	held.Tail = tail
	if tail.Held() > 0 {
		c.later(func() { m.showAfter(heldPatience) })
	}
	return m.engine.keepHeld(c, held)
}

// heldOf gives what is held back of the session's run; the zero value when
// nothing is.
func (e *Engine) heldOf(c *change) (held heldText, err error) {
	row, err := c.machine()
	if err != nil || row == nil || row.Held == nil {
		return held, err
	}
	text, err := e.vault.Unseal(c.s.ID.String(), row.Held)
	if err == nil {
		err = json.Unmarshal(text, &held)
	}
	if err != nil {
		return held, fmt.Errorf("read what is held back: %w", err)
	}
	return held, nil
}

// keepHeld stores what is held back now.
func (e *Engine) keepHeld(c *change, held heldText) error {
	row, err := c.machine()
	if err != nil || row == nil {
		return err
	}
	if held.Tail.Text == "" {
		if row.Held == nil {
			return nil
		}
		row.Held = nil
		return c.saveMachine()
	}
	text, err := json.Marshal(held)
	if err != nil {
		return fmt.Errorf("encode what is held back: %w", err)
	}
	if row.Held, err = e.vault.Seal(c.s.ID.String(), text); err != nil {
		return err
	}
	return c.saveMachine()
}

// showHeld records what is held back, since the text does not go on.
func (e *Engine) showHeld(c *change) error {
	if c.veil == nil {
		return nil
	}
	held, err := e.heldOf(c)
	if err != nil || held.Run.IsZero() {
		return err
	}
	c.showTail(&held)
	return e.keepHeld(c, heldText{})
}

// showTail records the rest of a text. What is shown is remembered: should the
// text go on with the rest of a value, that is hidden.
func (c *change) showTail(held *heldText) {
	var out string
	if out, held.Tail = c.veil.Show(held.Tail); out != "" {
		c.emit(held.Run, event.TokenDelta, event.Delta{Text: out, IsReasoning: held.Reasoning})
	}
}

// showAfter has what is held back shown when nothing comes for so long.
func (m *machine) showAfter(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.show = m.engine.now().Add(d)
}

// lookForHeld says whether it is time to show what is held back.
func (m *machine) lookForHeld(now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.show.IsZero() || now.Before(m.show) {
		return false
	}
	m.show = time.Time{}
	return true
}

// showStalled records what is held back of a text that stands still.
func (e *Engine) showStalled(ctx context.Context, m *machine) {
	err := e.change(ctx, m.session, func(c *change) error {
		if c.veil == nil {
			return errNoChange
		}
		held, err := e.heldOf(c)
		if err != nil || held.Tail.Held() == 0 {
			return errors.Join(err, errNoChange)
		}
		c.showTail(&held)
		return e.keepHeld(c, held)
	})
	if err != nil && ctx.Err() == nil {
		e.log.Error("show what was held back", "session_id", m.session, "error", err)
	}
}

// machine reads the session's machine, once; nil when it has none.
func (c *change) machine() (*store.Machine, error) {
	if c.row != nil {
		return c.row, nil
	}
	row, err := c.tx.Machine(c.ctx, c.s.ID)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read machine: %w", err)
	}
	c.row = &row
	return c.row, nil
}

// saveMachine stores the row that machine gave.
func (c *change) saveMachine() error { return c.tx.SaveMachine(*c.row) }
