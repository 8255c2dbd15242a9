package cli

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"paddock/client"
)

// At which interrupt (Ctrl-C or SIGTERM) a command line is ended on the spot.
// The first one always asks it to end in order.
const (
	clientPatience = 2 // a client leaves nothing behind on this machine
	serverPatience = 3 // serve and demo are in the middle of ending in order, which takes seconds
)

// interruptible gives a context that the first interrupt cancels. Later ones
// let a person out of a command that does not end. A terminal that hangs up
// interrupts too, except after nohup. Call release when the
// command is over.
func (a *app) interruptible(ctx context.Context) (_ context.Context, release func()) {
	ctx, cancel := context.WithCancel(ctx)
	signals := make(chan os.Signal, serverPatience)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	over := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		for n := int32(1); ; n++ {
			select {
			case <-over:
				return
			case <-signals:
			}
			switch {
			case n == 1:
				cancel()
			case n >= a.patience.Load():
				a.note("paddock: ended at once")
				os.Exit(exitInterrupted)
			default:
				a.note("paddock: still ending in order; one more interrupt ends it at once")
			}
		}
	})
	return ctx, func() {
		signal.Stop(signals)
		close(over)
		watch.Wait()
		cancel()
	}
}

// cancelPatience is how long a run may take to end after an interrupt; the
// server kills one that takes longer than 10 s.
const cancelPatience = 15 * time.Second

// cancelWith cancels the turn's run when ctx ends, and leaves when that does
// not work out in time. life is that of the turn's stream, leave its end. The
// caller waits for done after it left.
func (t *turn) cancelWith(ctx, life context.Context, leave func(), c *client.Client, session string) (done func()) {
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-life.Done():
			return
		case <-ctx.Done():
		}
		t.a.note("Cancelling the run …")
		late, cancel := context.WithTimeout(life, cancelPatience)
		defer cancel()
		if _, err := c.Cancel(late, session, t.run); err == nil {
			<-late.Done() // the stream shows the run's end
		}
		leave()
	})
	return watch.Wait
}
