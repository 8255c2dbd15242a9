package codex

import (
	"context"
	"errors"

	"paddock/internal/event"
	"paddock/internal/guest"
	"paddock/internal/guest/adapter/program"
	"paddock/internal/guest/adapter/rpc"
	"paddock/internal/guestapi"
)

// turn is one that is being played.
type turn struct {
	program.Turn[*process]
	sink  guest.Sink
	ended chan ending // has how it ended
	say   translation

	// Guarded by the lock of Turn.
	id    string // Codex's own of the turn; "" until it is told
	calls map[string]*call
	asks  map[string]ask
}

// ending is how Codex says that a turn ended.
type ending struct {
	turn   codexTurn
	source guest.Source
}

// Turn is part of guest.Adapter.
func (a *adapter) Turn(ctx context.Context, prompt guestapi.Prompt, sink guest.Sink) guestapi.End {
	t := newTurn(sink)
	a.quiet.Begin()
	a.mu.Lock()
	a.turn = t
	a.mu.Unlock()
	return a.play(ctx, t, prompt)
}

func newTurn(sink guest.Sink) *turn {
	return &turn{
		sink: sink, Turn: program.NewTurn[*process](), ended: make(chan ending, 1),
		say: newTranslation(sink), calls: map[string]*call{}, asks: map[string]ask{},
	}
}

func (a *adapter) play(ctx context.Context, t *turn, prompt guestapi.Prompt) guestapi.End {
	end, missed := a.try(ctx, t, prompt)
	if missed {
		// It had died before it read the prompt, which is seen only now.
		end, _ = a.try(ctx, t, prompt)
	}
	a.detach(t)
	t.say.finish(end.Outcome == guestapi.EndCompleted)
	end.TokensIn, end.TokensOut = t.say.spent()
	return end
}

// try gives the prompt to Codex, which is brought up where it is not, and waits
// for the end of the turn; missed says that it ended without having read it.
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
		return t.failure(attempt.Err), false
	}
	t.sink.Begin()
	p := attempt.Process
	call, ok := t.give(p, prompt)
	if !ok {
		return guestapi.End{Outcome: guestapi.EndCancelled}, false
	}
	before := a.continues(p.thread)
	end = a.await(ctx, t, call)
	if call.Missed() {
		a.continues(before) // a conversation without a turn is not kept
		return end, true
	}
	return end, false
}

// continues sets the conversation that goes on, and gives that before.
func (a *adapter) continues(thread string) (before string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before, a.thread = a.thread, thread
	return before
}

// await waits until the turn is over, and says how.
func (a *adapter) await(ctx context.Context, t *turn, call rpc.Pending) guestapi.End {
	var begun turnResult
	if _, err := call.Wait(ctx, &begun); err != nil {
		return t.failure(err)
	}
	t.begins(begun.Turn.ID)
	p := t.Process
	select {
	case e := <-t.ended:
		return t.conclude(e)
	case <-ctx.Done():
		return program.Failed(event.Internal, program.ErrShutdown.Error())
	case <-p.Gone():
		select {
		case e := <-t.ended: // it was told just before the end
			return t.conclude(e)
		default:
			return t.failure(p.Err())
		}
	}
}

// give sends the prompt, unless the turn is cancelled already.
func (t *turn) give(p *process, prompt guestapi.Prompt) (rpc.Pending, bool) {
	t.Lock()
	defer t.Unlock()
	if t.Cancelled {
		return rpc.Pending{}, false
	}
	t.Process, t.say.bill.model = p, p.model
	return p.Begin("turn/start", turnParams{
		ThreadID: p.thread, Input: []inputItem{{Type: "text", Text: prompt.Text}},
		Sandbox: sandboxPolicy{Type: "externalSandbox", NetworkAccess: "enabled"},
	}), true
}

// begins learns Codex's id of the turn; one that was to be cancelled before it
// was known is interrupted now.
func (t *turn) begins(id string) {
	t.Lock()
	first := t.id == "" && id != ""
	if first {
		t.id = id
	}
	interrupt := first && t.Cancelled
	p := t.Process
	t.Unlock()
	if interrupt {
		p.interrupt(id)
	}
}

// owns says whether a notification is of this turn.
func (t *turn) owns(method string, n *notice) bool {
	id := n.TurnID
	if method == "turn/started" || method == "turn/completed" {
		id = n.Turn.ID
	}
	if method == "turn/started" {
		t.begins(id)
	}
	t.Lock()
	defer t.Unlock()
	return id != "" && id == t.id
}

// finished notes that Codex has ended the turn. What follows is no part of it.
func (t *turn) finished(turn codexTurn, f rpc.Frame) {
	t.say.close()
	select {
	case t.ended <- ending{turn, guest.Source{Type: f.Method, Raw: f.Raw}}:
	default: // told twice
	}
}

// detach makes sure that nobody reports for the turn any more.
func (a *adapter) detach(t *turn) {
	a.mu.Lock()
	if a.turn == t {
		a.turn = nil
	}
	a.mu.Unlock()
	t.say.close()
	t.withdraw(true)
}

// Cancel is part of guest.Adapter.
func (a *adapter) Cancel() {
	t := a.current()
	if t == nil {
		return
	}
	t.Lock()
	first := t.Stop()
	p, id := t.Process, t.id
	t.Unlock()
	if !first {
		return
	}
	if p != nil && id != "" {
		p.interrupt(id)
	}
	t.withdraw(false)
}

// interrupt asks Codex to end a turn. What its commands have started it leaves
// alone; the guest ends that.
func (p *process) interrupt(turn string) {
	p.Begin("turn/interrupt", interruptParams{ThreadID: p.thread, TurnID: turn})
}

// conclude reads how Codex says the turn ended.
func (t *turn) conclude(e ending) guestapi.End {
	end := guestapi.End{Outcome: guestapi.EndCompleted, StopReason: "end_turn", Text: t.say.answer()}
	switch {
	case t.IsCancelled():
		end.Outcome, end.StopReason = guestapi.EndCancelled, "cancelled"
	case e.turn.Status == "interrupted":
		return program.Failed(event.ToolError, "the agent ended the turn before it was done, though nobody had asked it to")
	case e.turn.Status == "failed":
		code, message := classify(e.turn.Error)
		return program.Failed(code, message)
	}
	return end
}

// failure says how a turn ended that Codex did not end.
func (t *turn) failure(err error) guestapi.End {
	switch {
	case t.IsCancelled():
		return guestapi.End{Outcome: guestapi.EndCancelled, Text: t.say.answer()}
	case errors.Is(err, context.Canceled):
		return program.Failed(event.Internal, program.ErrShutdown.Error())
	}
	return program.Failed(event.Internal, err.Error())
}
