package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"paddock/internal/event"
	"paddock/internal/failpoint"
	"paddock/internal/id"
	"paddock/internal/recovery"
	"paddock/internal/sandbox"
	"paddock/internal/session"
	"paddock/internal/tracing"
)

// A session's files live in its sandbox and end with it, so they are saved: after
// each run, while the session is used between runs, and when it is paused. What
// is saved is one cut of the files, for which the machine stands still.

const (
	// savesAtOnce is how many sessions' files are saved side by side.
	savesAtOnce = 2
	// saveShare bounds what saving takes of a session's time: after a save it is
	// left alone for so many times as long as that took.
	saveShare = 20
	// saveBusy is the part of a CPU that a machine uses of which nobody asks
	// anything, if something works in it, and may write files.
	saveBusy = 0.02
)

// saving is what a machine knows of the saving of its files.
type saving struct {
	turn sync.Mutex // held while they are saved

	// Guarded by the machine's mu.
	wanted bool          // as soon as may be
	busy   bool          // a save is under way, or about to be
	off    bool          // this machine cannot
	told   bool          // the history says that they are not saved
	saved  time.Time     // what happened after it is not saved
	next   time.Time     // not before
	look   time.Time     // when to look whether something works in the machine
	cpu    time.Duration // that it had used at the last look
}

// saveSoon saves the machine's files in the background, at once if that may be.
func (e *Engine) saveSoon(m *machine) {
	m.mu.Lock()
	m.saving.wanted = true
	m.mu.Unlock()
	e.saveNow(m, e.now())
}

// saveNow begins to save what is wanted, unless it is under way or too early.
func (e *Engine) saveNow(m *machine, now time.Time) {
	if e.points == nil {
		return
	}
	m.mu.Lock()
	s := &m.saving
	begin := s.wanted && !s.busy && !s.off && !m.asking && !now.Before(s.next) // one that is thought dead is not waited for
	if begin {
		s.wanted, s.busy = false, true
	}
	m.mu.Unlock()
	if begin {
		e.spawn(func(ctx context.Context) { e.save(ctx, m) })
	}
}

// saveDue is told the time every second: it saves what was wanted, and what is
// in use for so long that it is due.
func (e *Engine) saveDue(m *machine, now time.Time) {
	if e.points == nil || e.saveEvery <= 0 {
		return
	}
	m.mu.Lock()
	s := &m.saving
	if m.rest == awake && now.Sub(s.saved) >= e.saveEvery && m.dirty() {
		s.wanted = true
	}
	look := m.rest == awake && !s.wanted && !s.off && !now.Before(s.look)
	if look {
		s.look = now.Add(e.saveEvery)
	}
	m.mu.Unlock()
	if look {
		e.spawn(func(ctx context.Context) { e.saveIfBusy(ctx, m) })
	}
	e.saveNow(m, now)
}

// dirty says whether something was done since the files were saved. Locked.
func (m *machine) dirty() bool {
	return m.holds > 0 || !m.runEnds.IsZero() || m.active.After(m.saving.saved)
}

// saveIfBusy saves the files of a machine in which something works that nobody
// waits for: what an earlier turn or call has left running.
func (e *Engine) saveIfBusy(ctx context.Context, m *machine) {
	stats, err := m.box.Stats(ctx)
	if err != nil {
		return
	}
	m.mu.Lock()
	s := &m.saving
	used := stats.CPU - s.cpu
	if s.cpu > 0 && float64(used) > saveBusy*float64(e.saveEvery) {
		s.wanted = true
	}
	s.cpu = stats.CPU
	m.mu.Unlock()
}

// saveFrozen saves the files of a session that was just paused, unless they are.
func (e *Engine) saveFrozen(m *machine) {
	m.mu.Lock()
	dirty := m.dirty()
	m.mu.Unlock()
	if dirty {
		e.saveSoon(m)
	}
}

// save saves the machine's files once.
func (e *Engine) save(ctx context.Context, m *machine) {
	m.saving.turn.Lock()
	defer m.saving.turn.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	var watch sync.WaitGroup
	defer watch.Wait()
	defer cancel()
	watch.Go(func() {
		select {
		case <-m.gone:
			cancel()
		case <-ctx.Done():
		}
	})
	select {
	case e.saves <- struct{}{}:
		defer func() { <-e.saves }()
	case <-ctx.Done():
		return
	}
	at, began := e.now(), time.Now()
	traced, span := e.trace.Start(ctx, "save", tracing.Session(m.session.String())) // ctx itself is watched
	point, err := e.savePoint(traced, m, at)
	took := time.Since(began)
	if err == nil {
		span.Note(tracing.Bytes(point.Bytes))
	}
	span.End(err)

	m.mu.Lock()
	s := &m.saving
	s.busy = false
	s.next = e.now().Add(saveShare * took)
	tell := false
	if errors.Is(err, errStalled) {
		defer m.doubt()
	}
	switch {
	case err == nil:
		s.saved, s.told = at, false
	case errors.Is(err, sandbox.ErrUnsupported):
		s.off = true
	case ctx.Err() == nil:
		s.wanted, s.next = true, e.now().Add(max(saveShare*took, e.saveEvery))
		tell = !s.told
		s.told = true
	}
	m.mu.Unlock()
	switch {
	case err == nil:
		e.log.Debug("files saved", "session_id", m.session, "bytes", point.Bytes, "took", took)
	case tell && !errors.Is(err, sandbox.ErrGone):
		e.log.Warn("save files", "session_id", m.session, "error", err)
		e.tellUnsaved(ctx, m)
	}
}

// savePoint makes the session's next recovery point.
func (e *Engine) savePoint(ctx context.Context, m *machine, at time.Time) (recovery.Point, error) {
	last, _ := e.points.Newest(m.session)
	if room, known := e.host.spare(); known && room.Disk < last.Bytes {
		return last, fmt.Errorf("the disk is nearly full: %d MiB are free beside the reserve, the last files took %d", room.Disk>>20, last.Bytes>>20)
	}
	draft, err := e.points.Begin(m.session)
	if err != nil {
		return last, err
	}
	moving, over := whileGrowing(ctx, draft.Folder(), e.stall)
	err = m.box.SaveFiles(moving, draft.Folder())
	if err != nil && errors.Is(context.Cause(moving), errStalled) {
		err = errors.Join(errStalled, err)
	}
	over()
	if err != nil {
		return last, errors.Join(err, draft.Drop())
	}
	failpoint.Hit("save.written")
	point, err := draft.Keep(ctx, at, m.box.Handle().Runtime)
	failpoint.Hit("save.kept")
	return point, err
}

// tellUnsaved says in the history that files are not saved.
func (e *Engine) tellUnsaved(ctx context.Context, m *machine) {
	text := "the files of this session could not be saved"
	if last, ok := e.points.Newest(m.session); ok {
		text += " since " + last.At.Format(time.RFC3339)
	}
	err := e.change(ctx, m.session, func(c *change) error {
		if c.s.State != session.Ready && c.s.State != session.Paused {
			return errNoChange
		}
		c.emit(id.Run{}, event.RunLog, event.Log{Level: "warn", Message: text + "; what is newer is lost should its sandbox be"})
		return nil
	})
	if err != nil && ctx.Err() == nil {
		e.log.Error("tell of unsaved files", "session_id", m.session, "error", err)
	}
}

// dropPoints removes the saved files of sessions that nobody can come back to;
// those that are open have been read and are not looked up again.
func (e *Engine) dropPoints(ctx context.Context, open []session.Session) error {
	if e.points == nil {
		return nil
	}
	all, err := e.points.Sessions()
	if err != nil {
		return err
	}
	known := map[id.Session]bool{}
	for _, s := range open {
		known[s.ID] = true
	}
	for _, sid := range all {
		if known[sid] {
			continue
		}
		s, err := e.store.SessionByID(ctx, sid)
		if err == nil && s.State != session.Destroyed {
			continue
		}
		if err := e.removePoints(sid); err != nil {
			e.log.Error("remove saved files", "session_id", sid, "error", err)
		}
	}
	return nil
}

func (e *Engine) removePoints(sid id.Session) error {
	if e.points == nil {
		return nil
	}
	return e.points.Remove(sid)
}
