package claude

import (
	"context"
	"sync"
	"time"

	"paddock/internal/event"
	"paddock/internal/guest"
	"paddock/internal/guest/adapter/program"
	"paddock/internal/guestapi"
)

// turn is one that is being played. Its sink calls wait while the journal is
// full, so no lock that Cancel or Answer takes is held across one.
type turn struct {
	sink   guest.Sink
	cancel chan struct{} // closed when the turn is to be cancelled
	ended  chan end      // has the end that the agent told, once

	mu        sync.Mutex
	cancelled bool
	over      bool     // nothing more is asked
	process   *process // that has the prompt; nil before
	begun     bool     // the agent is at it
	refused   string   // the model's server will not have us: what it said
	asks      map[string]ask
	allowed   map[string]time.Time // the calls that may run, and since when

	say translation // the reading goroutine's while the turn runs, then Turn's
}

// end is how the agent ended a turn, and what it used.
type end struct {
	result result
	source guest.Source
	spent  []usage
	cost   int64 // micro-dollars
}

func newTurn(sink guest.Sink) *turn {
	t := &turn{sink: sink, cancel: make(chan struct{}), ended: make(chan end, 1), asks: map[string]ask{}, allowed: map[string]time.Time{}}
	t.say = translation{turn: t, tools: map[string]*tool{}}
	return t
}

// Turn is part of guest.Adapter.
func (a *adapter) Turn(ctx context.Context, prompt guestapi.Prompt, sink guest.Sink) guestapi.End {
	t := newTurn(sink)
	a.quiet.Begin()
	a.mu.Lock()
	a.turn = t
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		a.turn = nil
		a.mu.Unlock()
	}()
	return a.play(ctx, t, prompt)
}

func (a *adapter) play(ctx context.Context, t *turn, prompt guestapi.Prompt) guestapi.End {
	e, err := a.try(ctx, t, prompt)
	if died(err) && t.isLost() {
		// It had died before it took the prompt, which is seen only now.
		e, err = a.try(ctx, t, prompt)
	}
	a.detach(t)
	if err != nil {
		t.say.finish("the turn ended before the call did")
		if t.isCancelled() {
			return guestapi.End{Outcome: guestapi.EndCancelled, Text: t.say.answer()}
		}
		return failed(event.Internal, err.Error())
	}
	t.say.finish("the agent reported no result")
	end := t.conclude(e.result)
	a.charge(t, e, &end)
	return end
}

// try gives the prompt to the agent, which is brought up where it is not, and
// waits for the end of the turn; the error says why the agent told none.
func (a *adapter) try(ctx context.Context, t *turn, prompt guestapi.Prompt) (end, error) {
	attempt := a.keeper.BringUp()
	select {
	case <-attempt.Done:
	case <-t.cancel:
		return end{}, errCancelled
	case <-ctx.Done():
		return end{}, program.ErrShutdown
	}
	if attempt.Err != nil {
		return end{}, attempt.Err
	}
	t.sink.Begin()
	if !t.give(attempt.Process, prompt) {
		return end{}, errCancelled
	}
	return t.wait(ctx, attempt.Process)
}

// wait gives the end that the agent tells, or why it tells none.
func (t *turn) wait(ctx context.Context, p *process) (end, error) {
	select {
	case e := <-t.ended:
		return e, nil
	case <-p.Gone():
		select {
		case e := <-t.ended: // it came just before
			return e, nil
		default:
			return end{}, p.Err()
		}
	case <-ctx.Done():
		return end{}, program.ErrShutdown
	}
}

// detach makes sure that the reading goroutine is done with the turn, also
// where no end came.
func (a *adapter) detach(t *turn) {
	t.say.close()
	t.mu.Lock()
	t.over = true
	t.mu.Unlock()
	t.withdraw()
}

// give sends the prompt, unless the turn is cancelled already.
func (t *turn) give(p *process, prompt guestapi.Prompt) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cancelled {
		return false
	}
	t.process = p
	p.Send(line(promptOf(prompt.Text)))
	return true
}

// begin notes that the agent is at the prompt.
func (t *turn) begin() {
	t.mu.Lock()
	t.begun = true
	t.mu.Unlock()
	t.insist()
}

// insist tells an agent once more to stop that goes on though it was told: it was
// told when there was nothing to stop.
func (t *turn) insist() {
	t.mu.Lock()
	again := t.cancelled || t.refused != ""
	t.mu.Unlock()
	if again {
		t.process.interrupt()
	}
}

// isLost says whether the prompt went to an agent that never began with it.
func (t *turn) isLost() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.process != nil && !t.begun && !t.cancelled
}

func (t *turn) isBegun() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.begun
}

// Cancel is part of guest.Adapter.
func (a *adapter) Cancel() {
	a.mu.Lock()
	t := a.turn
	a.mu.Unlock()
	if t == nil {
		return
	}
	t.mu.Lock()
	if t.cancelled {
		t.mu.Unlock()
		return
	}
	t.cancelled = true
	close(t.cancel)
	p := t.process
	t.mu.Unlock()
	if p == nil {
		return
	}
	p.interrupt()
	t.withdraw() // the agent, told to stop, learns that nobody will answer
}

func (t *turn) isCancelled() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.cancelled
}

// giveUp ends a turn whose model will not answer for good.
func (t *turn) giveUp(why string) {
	t.mu.Lock()
	first := t.refused == "" && !t.cancelled
	if first {
		t.refused = why
	}
	t.mu.Unlock()
	if first {
		t.process.interrupt()
	}
}
