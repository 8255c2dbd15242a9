package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	"paddock/internal/failpoint"
	"paddock/internal/store"
)

// maxGroup bounds how many updates share a commit, and so how long the first of
// them waits for the last.
const maxGroup = 256

// writer is the one writer of a database. Its goroutine hands out turns: the
// functions of updates run one after the other, each in the goroutine of its
// caller (a panic or t.FailNow there stays there) and in a savepoint of its own
// (one that fails takes nothing back from the others). The turns that are asked
// for while the others run share their transaction; those that are asked for
// while it is being committed share the next. A lone update is committed at
// once: the group is whoever is waiting, there is no timer.
type writer struct {
	conn       *sql.Conn
	statements *statements
	dialect    dialect

	turns   chan *turn // unbuffered: a turn taken is a turn begun
	closing chan struct{}
	close   func() error
}

// turn is one update's way through the writer; each channel carries one value.
type turn struct {
	begun chan error // nil: run; else the update has failed
	ran   chan error // what the function returned
	done  chan error // whether it is on the disk
}

func startWriter(ctx context.Context, db *sql.DB, d dialect) (*writer, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("take the writing connection: %w", err)
	}
	w := &writer{
		conn: conn, statements: newStatements(conn), dialect: d,
		turns: make(chan *turn), closing: make(chan struct{}),
	}
	var loop sync.WaitGroup
	loop.Go(w.loop)
	w.close = sync.OnceValue(func() error {
		close(w.closing)
		loop.Wait()
		return errors.Join(w.statements.close(), conn.Close())
	})
	return w, nil
}

// update implements store.Store.Update.
func (w *writer) update(ctx context.Context, fn func(store.Tx) error) error {
	t := &turn{begun: make(chan error, 1), ran: make(chan error, 1), done: make(chan error, 1)}
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case w.turns <- t:
	case <-ctx.Done():
		return ctx.Err()
	case <-w.closing:
		return ErrClosed
	}
	if err := <-t.begun; err != nil {
		return err
	}
	if err := t.run(fn, newTx(w)); err != nil {
		return err
	}
	select {
	case err := <-t.done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-t.done: // known after all
		return err
	default:
		return ctx.Err()
	}
}

// run runs fn and reports to the writer whatever becomes of it.
func (t *turn) run(fn func(store.Tx) error, x *tx) (err error) {
	returned := false
	defer func() {
		if !returned {
			// A panic; or the goroutine exits, then nobody sees the error but the writer.
			err = fmt.Errorf("update panicked: %v\n%s", recover(), debug.Stack())
		}
		x.over = true
		t.ran <- err
	}()
	err = fn(x)
	if err == nil {
		err = x.broken
	}
	returned = true
	return err
}

func (w *writer) loop() {
	for {
		select {
		case t := <-w.turns:
			w.commitGroup(t)
		case <-w.closing:
			return
		}
	}
}

// commitGroup runs the first update and all that wait, and commits them.
func (w *writer) commitGroup(first *turn) {
	if err := w.do("BEGIN IMMEDIATE"); err != nil {
		first.begun <- fmt.Errorf("begin: %w", err)
		return
	}
	group, err := w.runGroup(first)
	if err == nil {
		failpoint.Hit("store.commit")
		err = w.do("COMMIT")
		failpoint.Hit("store.committed")
	}
	if err != nil {
		// The database may have rolled back already, on a full disk for one; then
		// this says so and nothing is lost.
		_ = w.do("ROLLBACK")
		err = fmt.Errorf("commit: %w", err)
	}
	for _, t := range group {
		t.done <- err
	}
}

// runGroup gives the first update and those that wait their turns. The group it
// returns waits for the commit; an error means that the transaction is broken.
func (w *writer) runGroup(first *turn) (group []*turn, err error) {
	for t := first; t != nil; t = w.next(len(group)) {
		ok, err := w.take(t)
		if ok {
			group = append(group, t)
		}
		if err != nil {
			return group, err
		}
	}
	return group, nil
}

// next gives the next update that waits, nil when none does or the group is full.
func (w *writer) next(size int) *turn {
	if size >= maxGroup {
		return nil
	}
	select {
	case t := <-w.turns:
		return t
	default:
		return nil
	}
}

// take gives an update its turn in the open transaction. ok says that it waits
// for the commit; an error means that the transaction is broken.
func (w *writer) take(t *turn) (ok bool, err error) {
	if err := w.do("SAVEPOINT turn"); err != nil {
		t.begun <- fmt.Errorf("begin: %w", err)
		return false, err
	}
	t.begun <- nil
	if <-t.ran == nil {
		return true, w.do("RELEASE SAVEPOINT turn")
	}
	if err := w.do("ROLLBACK TO SAVEPOINT turn"); err != nil {
		return false, err
	}
	return false, w.do("RELEASE SAVEPOINT turn")
}

// do runs a statement of the writer's own. It has no context: a commit is
// neither given up nor hurried.
func (w *writer) do(text string) error {
	_, err := w.statements.exec(context.Background(), text)
	return err
}
