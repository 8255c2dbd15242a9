package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"paddock/internal/failpoint"
	"paddock/internal/fault"
	"paddock/internal/guestapi"
	"paddock/internal/id"
	"paddock/internal/logging"
	"paddock/internal/store"
)

// maxKeptAnswer bounds the answer of an exec that is kept for a repetition.
const maxKeptAnswer = 4 << 20

// An exec that is named by a key belongs to the key and not to a connection: a
// caller who leaves does not end it, and who repeats the call gets its outcome.
// Its id in the guest is stored before it is started, so that after a crash it
// is asked for and never started again.

// flights are the named execs that are under way in this process.
type flights struct {
	mu   sync.Mutex
	byID map[flightID]*flight
}

type flightID struct {
	team id.Team
	key  string
}

// flight is one of them; how it went is set before done is closed.
type flight struct {
	request string
	done    chan struct{}
	result  ExecResult
	err     error
}

// execOnce begins the exec of this key, or joins it: then its outcome is a
// *Replayed.
func (e *Engine) execOnce(ctx context.Context, team id.Team, ref string, req ExecRequest) (ExecResult, error) {
	f, first := e.flight(ctx, team, ref, req)
	if f.request != req.Once.Request {
		return ExecResult{}, errOtherRequest
	}
	select {
	case <-f.done:
	case <-ctx.Done():
		return ExecResult{}, context.Cause(ctx)
	}
	if f.err == nil && !first {
		return ExecResult{}, &Replayed{req.Once.Answer(f.result)}
	}
	return f.result, f.err
}

// flight finds the flight of a key or begins it.
func (e *Engine) flight(ctx context.Context, team id.Team, ref string, req ExecRequest) (f *flight, first bool) {
	at := flightID{team, req.Once.Key}
	e.flights.mu.Lock()
	defer e.flights.mu.Unlock()
	if f := e.flights.byID[at]; f != nil {
		return f, false
	}
	f = &flight{request: req.Once.Request, done: make(chan struct{})}
	begun := e.spawn(func(life context.Context) {
		own := logging.Carry(life, ctx)
		defer close(f.done)
		f.result, f.err = e.fly(own, team, ref, req)
		if f.err != nil && own.Err() != nil {
			f.err = errStopping
		}
		e.flights.mu.Lock()
		defer e.flights.mu.Unlock()
		delete(e.flights.byID, at)
	})
	if begun {
		e.flights.byID[at] = f
	} else {
		f.err = errStopping
		close(f.done)
	}
	return f, true
}

// fly does the exec, or finds out what became of it.
func (e *Engine) fly(ctx context.Context, team id.Team, ref string, req ExecRequest) (ExecResult, error) {
	receipt, err := findReceipt(ctx, e.store, team, req.Once.Key, req.Once.Request, e.now())
	switch {
	case err != nil:
		return ExecResult{}, err
	case receipt != nil && receipt.Answer != nil:
		if err := e.openReceipt(receipt); err != nil {
			return ExecResult{}, err
		}
		return ExecResult{}, replayExec(*receipt.Answer)
	}
	m, release, err := e.reach(ctx, team, ref)
	if err != nil {
		return ExecResult{}, err
	}
	defer release()
	x := execution{machine: m}
	var result ExecResult
	if receipt != nil {
		x.id = receipt.Exec
		result, err = x.rejoin(ctx)
	} else {
		receipt = &store.Receipt{Team: team, Key: req.Once.Key, Request: req.Once.Request, Exec: id.New[id.Exec](), CreatedAt: e.now()}
		if err := e.store.Update(ctx, func(tx store.Tx) error { return saveReceipt(tx, *receipt) }); err != nil {
			return ExecResult{}, fmt.Errorf("store receipt: %w", err)
		}
		failpoint.Hit("exec.named")
		x.id = receipt.Exec
		result, err = x.run(ctx, req.guest())
		if fault.Is(err, fault.BadRequest) { // the guest started nothing
			forget := e.store.Update(ctx, func(tx store.Tx) error { return tx.DeleteReceipt(team, req.Once.Key) })
			return ExecResult{}, errors.Join(err, forget)
		}
	}
	if err != nil {
		return ExecResult{}, err
	}
	defer x.end(ctx) // not before the answer is stored
	kept := req.Once.Answer(result)
	if len(kept.Body) > maxKeptAnswer {
		kept = store.Answer{}
	}
	receipt.Answer = &kept
	if err := e.sealReceipt(ctx, m.session, receipt); err != nil {
		return ExecResult{}, err
	}
	if err := e.store.Update(ctx, func(tx store.Tx) error { return tx.SaveReceipt(*receipt) }); err != nil {
		return ExecResult{}, fmt.Errorf("store receipt: %w", err)
	}
	return result, nil
}

// sealReceipt seals what a program in a session with secrets wrote: it may have
// their values in it.
func (e *Engine) sealReceipt(ctx context.Context, sid id.Session, r *store.Receipt) error {
	s, err := e.store.SessionByID(ctx, sid)
	if err != nil {
		return fmt.Errorf("read session: %w", err)
	}
	veil, err := e.veil(ctx, e.store, s.Environment)
	if err != nil || veil == nil {
		return err
	}
	r.Answer.Body, err = e.vault.Seal(receiptRecord(*r), r.Answer.Body)
	r.Answer.Sealed = true
	return err
}

func (e *Engine) openReceipt(r *store.Receipt) (err error) {
	if r.Answer.Sealed {
		r.Answer.Body, err = e.vault.Unseal(receiptRecord(*r), r.Answer.Body)
		r.Answer.Sealed = false
	}
	return err
}

func receiptRecord(r store.Receipt) string { return "receipt " + r.Team.String() + " " + r.Key }

// replayExec gives a kept answer; one without a status was too large to keep.
func replayExec(kept store.Answer) error {
	if kept.Status == 0 {
		return fault.New(fault.Conflict, "the command ran under this Idempotency-Key, but its output was larger than %d MiB and is not kept", maxKeptAnswer>>20)
	}
	return &Replayed{kept}
}

// rejoin follows an exec that was started, or was about to be, before the server
// died.
func (x *execution) rejoin(ctx context.Context) (ExecResult, error) {
	p, err := ask(ctx, x.machine, func(g guestapi.Guest) (guestapi.ExecProgress, error) {
		return g.PollExec(ctx, x.id, 0, 0, 0)
	})
	if fault.Is(err, fault.NotFound) || fault.Is(err, fault.BadRequest) {
		return ExecResult{}, fault.Wrap(err, fault.Conflict,
			"the server was stopped while this command was under way and its outcome is not known; look what it did, then use a new Idempotency-Key")
	}
	return x.follow(ctx, p, err)
}
