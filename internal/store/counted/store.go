package counted

import (
	"context"
	"errors"
	"fmt"
	"time"

	"paddock/internal/event"
	"paddock/internal/id"
	"paddock/internal/metrics"
	"paddock/internal/session"
	"paddock/internal/store"
)

// Store counts what goes through it.
type Store struct {
	store.Store
	metrics *metrics.Metrics
}

// New counts what is there now, and from then on what changes. Nobody may write
// to the store before it returns, or past it afterwards.
func New(ctx context.Context, behind store.Store, m *metrics.Metrics) (*Store, error) {
	now, err := behind.Census(ctx)
	if err != nil {
		return nil, fmt.Errorf("count what is stored: %w", err)
	}
	m.Start(now.Sessions, now.Runs)
	return &Store{behind, m}, nil
}

// Update is part of store.Store. A caller who leaves during the commit does not
// hear how it went; it is counted then, for commits do not fail but on a broken
// store.
func (s *Store) Update(ctx context.Context, fn func(tx store.Tx) error) error {
	begin := time.Now()
	t := &tx{known: map[id.Session]session.State{}}
	var ran bool // to its end, without an error
	err := s.Store.Update(ctx, func(behind store.Tx) error {
		t.Tx = behind
		err := fn(t)
		ran = err == nil
		return err
	})
	if err == nil || ran && ctx.Err() != nil {
		s.metrics.Count(t.tally)
		s.metrics.Update(time.Since(begin))
	}
	return err
}

// tx notes the changes of one transaction. The states before are read in it, so
// the differences of transactions add up in whatever order they are counted.
type tx struct {
	store.Tx
	known map[id.Session]session.State // as this transaction has read or written them
	tally metrics.Tally
}

// SessionByID is part of store.Reader: most who change a session have read it.
func (t *tx) SessionByID(ctx context.Context, sid id.Session) (session.Session, error) {
	s, err := t.Tx.SessionByID(ctx, sid)
	if err == nil {
		t.known[sid] = s.State
	}
	return s, err
}

// CreateSession is part of store.Tx.
func (t *tx) CreateSession(s session.Session, limit int) error {
	err := t.Tx.CreateSession(s, limit)
	if err == nil {
		t.moved(s.ID, "", s.State)
	}
	return err
}

// UpdateSession is part of store.Tx.
func (t *tx) UpdateSession(s *session.Session) error {
	before, known := t.known[s.ID]
	if !known {
		old, err := t.Tx.SessionByID(context.Background(), s.ID)
		if err != nil {
			return fmt.Errorf("update session: %w", err)
		}
		before = old.State
	}
	err := t.Tx.UpdateSession(s)
	if err == nil {
		t.moved(s.ID, before, s.State)
	}
	return err
}

func (t *tx) moved(sid id.Session, from, to session.State) {
	t.known[sid] = to
	t.tally.Session(from, to)
}

// SaveRun is part of store.Tx.
func (t *tx) SaveRun(r session.Run) error {
	old, err := t.Tx.Run(context.Background(), r.Session, r.ID)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if err := t.Tx.SaveRun(r); err != nil {
		return err
	}
	t.tally.Run(old.State, r.State)
	return nil
}

// Append is part of store.Tx.
func (t *tx) Append(sid id.Session, at time.Time, drafts ...event.Draft) ([]event.Event, error) {
	events, err := t.Tx.Append(sid, at, drafts...)
	for _, e := range events {
		t.tally.Event(e.Kind)
	}
	return events, err
}
