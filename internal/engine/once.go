package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"paddock/internal/fault"
	"paddock/internal/id"
	"paddock/internal/store"
)

// receiptLife is how long a call's key holds (the public protocol's 24 hours).
const receiptLife = 24 * time.Hour

// sweep is how many expired receipts each new one takes along, so that they go
// faster than they come.
const sweep = 8

// Once names a call that makes something, so that however often it is repeated
// the thing is made once. The zero value names nothing: the call is just done.
type Once[T any] struct {
	Key     string               // the caller's, unique in the team while its receipt is kept
	Request string               // digest of all that is asked: a key belongs to one request
	Answer  func(T) store.Answer // encodes what was made; called in the transaction that makes it
}

// Replayed ends a call that was made before: nothing is done again, and Answer
// is what was answered then.
type Replayed struct{ Answer store.Answer }

// Error says so.
func (*Replayed) Error() string { return "the call was made before under the same key" }

// check looks for the receipt of the call: *Replayed when it was answered,
// Unprocessable when the key is another request's, nil when it is new.
func (o Once[T]) check(ctx context.Context, r store.Reader, team id.Team, now time.Time) error {
	if o.Key == "" {
		return nil
	}
	receipt, err := findReceipt(ctx, r, team, o.Key, o.Request, now)
	if err != nil || receipt == nil {
		return err
	}
	if receipt.Answer == nil {
		return errors.New("a receipt without an answer where effect and answer are one")
	}
	return &Replayed{*receipt.Answer}
}

// keep writes the receipt, in the transaction that made the thing.
func (o Once[T]) keep(tx store.Tx, team id.Team, now time.Time, made T) error {
	if o.Key == "" {
		return nil
	}
	answer := o.Answer(made)
	return saveReceipt(tx, store.Receipt{Team: team, Key: o.Key, Request: o.Request, Answer: &answer, CreatedAt: now})
}

// findReceipt gives a receipt that still holds, nil when there is none.
func findReceipt(ctx context.Context, r store.Reader, team id.Team, key, request string, now time.Time) (*store.Receipt, error) {
	receipt, err := r.Receipt(ctx, team, key)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("look for receipt: %w", err)
	case now.Sub(receipt.CreatedAt) >= receiptLife:
		return nil, nil
	case receipt.Request != request:
		return nil, errOtherRequest
	}
	return &receipt, nil
}

var errOtherRequest = fault.New(fault.Unprocessable, "this Idempotency-Key was used for another request; use a new key for a new request")

func saveReceipt(tx store.Tx, r store.Receipt) error {
	if _, err := tx.DeleteReceipts(r.CreatedAt.Add(-receiptLife), sweep); err != nil {
		return err
	}
	return tx.SaveReceipt(r)
}
