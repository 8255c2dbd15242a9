package sqlstore

import (
	"context"
	"database/sql"
	"errors"

	"paddock/internal/store"
)

// tx is one update's view of the open transaction: the writer's connection
// until its function returns. Its writing methods are beside the reading ones
// of the same thing, in session.go, run.go and so on.
type tx struct {
	queries
	statements *statements
	dialect    dialect
	over       bool  // the function has returned; touched only by its goroutine
	broken     error // the database's own error, after which the update cannot succeed
}

var _ store.Tx = (*tx)(nil)

var errOver = errors.New("transaction used after its update returned")

func newTx(w *writer) *tx {
	x := &tx{statements: w.statements, dialect: w.dialect}
	x.queries = queries{x}
	return x
}

// query does not let ctx interrupt a statement that has begun: an interrupted
// one could take the whole transaction with it, and so the other updates.
func (x *tx) query(ctx context.Context, each func(*sql.Rows) error, text string, args ...any) error {
	if err := x.usable(ctx); err != nil {
		return err
	}
	err := x.statements.query(context.WithoutCancel(ctx), each, text, args...)
	return x.remember(err)
}

// write runs a statement and says how many rows it touched.
func (x *tx) write(text string, args ...any) (int64, error) {
	ctx := context.Background()
	if err := x.usable(ctx); err != nil {
		return 0, err
	}
	n, err := x.statements.exec(ctx, text, args...)
	return n, x.remember(err)
}

func (x *tx) usable(ctx context.Context) error {
	switch {
	case x.over:
		return errOver
	case x.broken != nil:
		return x.broken
	}
	return ctx.Err()
}

// remember notes an error of the database. It may have rolled the transaction
// back with it (SQLite does on a full disk), so that what a careless function
// writes next would stand alone: nothing more is let through.
func (x *tx) remember(err error) error {
	if err != nil {
		x.broken = err
	}
	return err
}
