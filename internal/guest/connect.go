package guest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"paddock/internal/guestapi"
)

// How long to wait before dialling again: a host that is restarting is back
// within a second, one that refuses us will not change its mind soon.
const (
	redialPause  = 150 * time.Millisecond
	refusedPause = 2 * time.Second
)

// Run keeps the daemon connected until ctx is over: it dials, shakes hands and
// sends reports, one batch at a time, so that what happens during a slow commit
// goes into the next batch.
func (d *Daemon) Run(ctx context.Context) {
	for ctx.Err() == nil {
		err := d.session(ctx)
		pause := redialPause
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

// session is one connection from its beginning to its end.
func (d *Daemon) session(ctx context.Context) error {
	secret, err := d.options.Secret()
	if err != nil {
		return fmt.Errorf("read secret: %w", err)
	}
	conn, err := d.options.Dial(ctx)
	if err != nil {
		return err
	}
	up, err := guestapi.Dial(ctx, conn, guestapi.Hello{
		Version: guestapi.Version, Oldest: guestapi.OldestVersion, Secret: secret, Build: d.options.Build, Epoch: d.journal.Epoch(),
	}, d)
	if err != nil {
		return err
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
	return d.send(ctx, up)
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
