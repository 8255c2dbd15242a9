package guest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"paddock/internal/guestapi"
)

// How long to wait before dialling again. A host that is restarting is back
// within a second or two; one that is away for longer must not find all guests of
// a full machine at its door several times a second, which was measured to leave
// no processor for their adoption. One that refuses us will not change its mind
// soon.
const (
	redialFirst  = 150 * time.Millisecond
	redialLast   = 2 * time.Second
	refusedPause = 2 * time.Second
)

// redialPause is how long to wait after the n-th failure in a row, from 0.
func redialPause(n int) time.Duration {
	return min(redialFirst<<min(n, 8), redialLast)
}

// Run keeps the daemon connected until ctx is over: it dials, shakes hands and
// sends reports, one batch at a time, so that what happens during a slow commit
// goes into the next batch.
func (d *Daemon) Run(ctx context.Context) {
	failures := 0
	for ctx.Err() == nil {
		connected, err := d.session(ctx)
		if connected {
			failures = 0
		}
		pause := redialPause(failures)
		failures++
		if errors.Is(err, guestapi.ErrRefused) {
			pause = refusedPause
		}
		d.options.Log.Debug("not connected", "error", err)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// session is one connection from its beginning to its end; connected says
// whether it came to be.
func (d *Daemon) session(ctx context.Context) (connected bool, err error) {
	secret, err := d.options.Secret()
	if err != nil {
		return false, fmt.Errorf("read secret: %w", err)
	}
	conn, err := d.options.Dial(ctx)
	if err != nil {
		return false, err
	}
	up, err := guestapi.Dial(ctx, conn, guestapi.Hello{
		Version: guestapi.Version, Oldest: guestapi.OldestVersion, Secret: secret, Build: d.options.Build, Epoch: d.journal.Epoch(),
	}, d)
	if err != nil {
		return false, err
	}
	defer up.Close()
	d.journal.Attach(up.Welcome())
	if active := up.Welcome().Active; active != nil {
		if adapter, err := d.agent(); err == nil { // without an agent there is no turn
			d.turns.keep(adapter, *active)
		}
	}
	d.options.Log.Debug("connected", "epoch", up.Welcome().Epoch, "ack", up.Welcome().Ack)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	d.work.Go(func() {
		select {
		case <-up.Done():
			cancel(errors.New("connection lost"))
		case <-ctx.Done():
		}
	})
	return true, d.send(ctx, up)
}

// send hands over reports until the host does not take one. What it refuses is
// sent again after the next handshake has told where it stands.
func (d *Daemon) send(ctx context.Context, host guestapi.Host) error {
	for {
		batch, err := d.journal.Next(ctx)
		if err != nil {
			return err
		}
		ack, err := host.Report(ctx, batch)
		if err != nil {
			return fmt.Errorf("report: %w", err)
		}
		d.journal.Acked(ack)
	}
}
