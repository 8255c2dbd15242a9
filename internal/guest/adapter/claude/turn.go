package claude

import (
	"context"
	"time"

	"paddock/internal/event"
	"paddock/internal/guest"
	"paddock/internal/guest/adapter/program"
	"paddock/internal/guestapi"
)

// turn is one that is being played.
type turn struct {
	program.Turn[*process]
	sink  guest.Sink
	ended chan end // has the end that the agent told, once

	// Guarded by the lock of Turn.
	begun   bool   // the agent is at it
	refused string // the model's server will not have us: what it said
	asks    map[string]ask
	allowed map[string]time.Time // the calls that may run, and since when

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
	t := &turn{sink: sink, Turn: program.NewTurn[*process](), ended: make(chan end, 1), asks: map[string]ask{}, allowed: map[string]time.Time{}}
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
		if t.IsCancelled() {
			return guestapi.End{Outcome: guestapi.EndCancelled, Text: t.say.answer()}
		}
		return program.Failed(event.Internal, err.Error())
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
	case <-t.Cancel:
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
	t.Lock()
	t.Over = true
	t.Unlock()
	t.withdraw()
}

// give sends the prompt, unless the turn is cancelled already.
func (t *turn) give(p *process, prompt guestapi.Prompt) bool {
	t.Lock()
	defer t.Unlock()
	if t.Cancelled {
		return false
	}
	t.Process = p
	p.Send(line(promptOf(prompt.Text)))
	return true
}

// begin notes that the agent is at the prompt.
func (t *turn) begin() {
	t.Lock()
	t.begun = true
	t.Unlock()
	t.insist()
}

// insist tells an agent once more to stop that goes on though it was told: it was
// told when there was nothing to stop.
func (t *turn) insist() {
	t.Lock()
	again := t.Cancelled || t.refused != ""
	t.Unlock()
	if again {
		t.Process.interrupt()
	}
}

// isLost says whether the prompt went to an agent that never began with it.
func (t *turn) isLost() bool {
	t.Lock()
	defer t.Unlock()
	return t.Process != nil && !t.begun && !t.Cancelled
}

func (t *turn) isBegun() bool {
	t.Lock()
	defer t.Unlock()
	return t.begun
}

// Cancel is part of guest.Adapter.
func (a *adapter) Cancel() {
	t := a.current()
	if t == nil {
		return
	}
	t.Lock()
	first := t.Stop()
	p := t.Process
	t.Unlock()
	if !first || p == nil {
		return
	}
	p.interrupt()
	t.withdraw() // the agent, told to stop, learns that nobody will answer
}

// giveUp ends a turn whose model will not answer for good.
func (t *turn) giveUp(why string) {
	t.Lock()
	first := t.refused == "" && !t.Cancelled
	if first {
		t.refused = why
	}
	t.Unlock()
	if first {
		t.Process.interrupt()
	}
}
