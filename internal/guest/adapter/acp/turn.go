package acp

import (
	"context"
	"errors"
	"strings"

	"paddock/internal/event"
	"paddock/internal/guest"
	"paddock/internal/guest/adapter/program"
	"paddock/internal/guest/adapter/rpc"
	"paddock/internal/guestapi"
)

// turn is one that is being played.
type turn struct {
	program.Turn[*process]
	sink guest.Sink

	// Guarded by the lock of Turn.
	call rpc.Pending // the prompt; valid with Process
	asks map[string]ask

	// Only the reading goroutine uses these while the turn runs, then only Turn.
	say translation
}

// Turn is part of guest.Adapter.
func (a *adapter) Turn(ctx context.Context, prompt guestapi.Prompt, sink guest.Sink) guestapi.End {
	t := &turn{sink: sink, Turn: program.NewTurn[*process](), asks: map[string]ask{}, say: newTranslation(sink)}
	a.quiet.Begin()
	a.mu.Lock()
	a.turn = t
	a.mu.Unlock()
	end := a.play(ctx, t, prompt)
	a.detach(t)
	return end
}

func (a *adapter) play(ctx context.Context, t *turn, prompt guestapi.Prompt) guestapi.End {
	end, missed := a.try(ctx, t, prompt)
	if missed {
		// It had died before it read the prompt, which is seen only now.
		end, _ = a.try(ctx, t, prompt)
	}
	return end
}

// try gives the prompt to the agent, which is brought up where it is not, and
// waits for the end of the turn; missed says that the agent ended without having
// read it, and that the turn may be tried again.
func (a *adapter) try(ctx context.Context, t *turn, prompt guestapi.Prompt) (end guestapi.End, missed bool) {
	attempt := a.keeper.BringUp()
	select {
	case <-attempt.Done:
	case <-t.Cancel:
		return guestapi.End{Outcome: guestapi.EndCancelled}, false
	case <-ctx.Done():
		return program.Failed(event.Internal, program.ErrShutdown.Error()), false
	}
	if attempt.Err != nil {
		return a.failure(t, attempt.Err, true), false
	}
	t.sink.Begin()
	call, ok := t.give(attempt.Process, prompt)
	if !ok {
		return guestapi.End{Outcome: guestapi.EndCancelled}, false
	}
	var result promptResult
	answer, err := call.Wait(ctx, &result)
	if err != nil && call.Missed() {
		return a.failure(t, err, false), true
	}
	return a.over(t, result, answer, err), false
}

// over says how a turn ended of which the answer, or why there is none, has come.
func (a *adapter) over(t *turn, result promptResult, answer rpc.Frame, err error) guestapi.End {
	a.detach(t)
	t.withdraw()
	if err != nil {
		end := a.failure(t, err, false)
		t.say.finish(false)
		a.charge(t, &end)
		return end
	}
	end := t.conclude(result)
	if code, message, wrong := t.say.failure(result); wrong && !t.IsCancelled() {
		end = program.Failed(code, message)
	}
	t.say.finish(end.Outcome == guestapi.EndCompleted)
	a.spend(t, result, guest.Source{Type: "session/prompt", Raw: answer.Raw}, &end)
	return end
}

// detach makes sure that the reading goroutine is done with the turn, also
// where no answer came.
func (a *adapter) detach(t *turn) {
	a.mu.Lock()
	a.turn = nil
	a.mu.Unlock()
	t.say.close()
	t.Lock()
	t.Over = true
	t.Unlock()
}

// give sends the prompt, unless the turn is cancelled already. A cancel that
// comes later is queued behind it.
func (t *turn) give(p *process, prompt guestapi.Prompt) (rpc.Pending, bool) {
	t.Lock()
	defer t.Unlock()
	if t.Cancelled {
		return rpc.Pending{}, false
	}
	t.Process = p
	t.say.spoken = spoken[strings.ToLower(p.capabilities.Info.Name)]
	t.call = p.Begin("session/prompt", promptParams{SessionID: p.session, Prompt: []content{{Type: "text", Text: prompt.Text}}})
	return t.call, true
}

// isAnswer says whether a response is the prompt's.
func (t *turn) isAnswer(f rpc.Frame) bool {
	t.Lock()
	defer t.Unlock()
	return t.call.IsAnswer(f)
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
	p.Notify("session/cancel", cancelParams{p.session})
	t.withdraw() // the agent, told to stop, learns that nobody will answer
}

// conclude reads how the agent says the turn ended.
func (t *turn) conclude(result promptResult) guestapi.End {
	end := guestapi.End{Outcome: guestapi.EndCompleted, StopReason: result.StopReason, Text: t.say.answer()}
	if result.StopReason == "cancelled" && t.IsCancelled() {
		end.Outcome = guestapi.EndCancelled
	}
	// "cancelled" that nobody asked for is how some agents end a turn in which
	// they were told no: that turn is complete.
	return end
}

// failure says how a turn ended that did not end by itself.
func (a *adapter) failure(t *turn, err error, starting bool) guestapi.End {
	if t.IsCancelled() {
		return guestapi.End{Outcome: guestapi.EndCancelled, Text: t.say.answer()}
	}
	var refused *rpc.Error
	if errors.As(err, &refused) {
		code := classify(refused)
		if starting && code == event.ToolError {
			code = event.Internal // it never came to work
		}
		return program.Failed(code, refused.Error())
	}
	if errors.Is(err, context.Canceled) {
		return program.Failed(event.Internal, program.ErrShutdown.Error())
	}
	return program.Failed(event.Internal, err.Error())
}
