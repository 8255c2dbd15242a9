package gvisor

import (
	"context"
	"fmt"

	"paddock/internal/sandbox"
)

// Recover is part of sandbox.Driver. A machine whose Start did not come to its
// end is gone: nobody was told of it.
func (d *Driver) Recover(ctx context.Context, handle sandbox.Handle, secrets []sandbox.Brokered) (sandbox.Machine, error) {
	if err := d.check(handle); err != nil {
		return nil, err
	}
	release, err := d.turns.take(ctx, handle.ID)
	if err != nil {
		return nil, fmt.Errorf("recover sandbox: %w", err)
	}
	defer release()
	if d.machine(handle.ID) != nil {
		return nil, fmt.Errorf("sandbox %s is held already", handle.ID)
	}
	m, err := d.find(ctx, handle, secrets)
	if err != nil {
		return nil, fmt.Errorf("recover sandbox %s: %w", handle.ID, err)
	}
	d.options.Logger.Info("sandbox recovered", "sandbox_id", handle.ID, "driver", Name, "paused", m.Paused())
	return m, nil
}

// find takes hold of a running machine by what is in its folder.
func (d *Driver) find(ctx context.Context, handle sandbox.Handle, secrets []sandbox.Brokered) (_ *machine, err error) {
	f := d.folderOf(handle.ID)
	was, err := f.readStatus()
	if err != nil {
		return nil, err
	}
	if was == "" {
		return nil, sandbox.ErrGone
	}
	c, err := d.control(handle)
	if err != nil {
		return nil, err
	}
	kernel, gofer, err := c.find(ctx)
	if err != nil {
		return nil, err
	}

	kept, err := readPlan(handle)
	if err != nil {
		return nil, err
	}
	p := parts{handle: handle, folder: f, control: c, group: d.groups.group(handle.ID), full: full(kept.MemoryMB)}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	if p.kernel, err = openOwn(kernel, f.runsc()); err != nil {
		return nil, err
	}
	if p.gofer, err = openOwn(gofer, f.runsc()); err != nil {
		return nil, err
	}
	if p.kernel == nil || p.gofer == nil { // a kernel whose gofer has ended is about to end
		return nil, sandbox.ErrGone
	}
	is, err := c.observe(ctx, was)
	if err == nil && is != was {
		err = f.writeStatus(is)
	}
	if err != nil {
		if p.kernel.ended() {
			return nil, sandbox.ErrGone
		}
		return nil, err
	}
	if p.secret, err = f.readSecret(); err != nil {
		return nil, err
	}
	if p.listener, err = f.listen(); err != nil {
		return nil, err
	}
	if err := d.options.Network.Rejoin(ctx, handle.ID, secrets); err != nil {
		d.options.Logger.Error("rejoin network; the sandbox has none", "sandbox_id", handle.ID, "error", err)
	}
	return d.hold(p, is), nil
}
