package guest_test

import (
	"context"
	"testing"
	"time"

	"paddock/internal/guest"
	"paddock/internal/guestapi"
)

// slowToCancel is an adapter whose turns end as soon as they are cancelled,
// while the cancel itself takes long.
type slowToCancel struct {
	turns     chan struct{} // has one for each turn that began
	cancelled chan struct{}
	overtaken chan bool // whether another turn began while a cancel was under way
}

func (a *slowToCancel) Start()                         {}
func (a *slowToCancel) Answer(string, guestapi.Answer) {}
func (a *slowToCancel) Kill()                          {}
func (a *slowToCancel) Close()                         {}

func (a *slowToCancel) Turn(ctx context.Context, _ guestapi.Prompt, sink guest.Sink) guestapi.End {
	sink.Begin()
	a.turns <- struct{}{}
	select {
	case <-a.cancelled:
	case <-ctx.Done():
	}
	return guestapi.End{Outcome: guestapi.EndCancelled}
}

func (a *slowToCancel) Cancel() {
	a.cancelled <- struct{}{}
	late := time.NewTimer(200 * time.Millisecond)
	defer late.Stop()
	select {
	case <-a.turns:
		a.overtaken <- true
	case <-late.C:
		a.overtaken <- false
	}
}

// What ends a cancelled turn is over before the next can begin, which it would
// else hit.
func TestEndOfATurnIsNoneOfTheNext(t *testing.T) {
	a := &slowToCancel{turns: make(chan struct{}, 2), cancelled: make(chan struct{}), overtaken: make(chan bool, 1)}
	m := newMachine(t, func(o *guest.Options) {
		o.Adapters["slow"] = func(guestapi.Agent, guest.Services) guest.Adapter { return a }
	})
	m.agent(guestapi.Agent{Adapter: "slow", Name: "slow"})
	run := m.prompt("one")
	<-a.turns
	m.cancel(run)
	m.prompt("two")
	if <-a.overtaken {
		t.Error("the next turn began while the one before was being ended")
	}
}
