package gvisor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"paddock/internal/sandbox"
)

// Destroy is part of sandbox.Driver.
func (d *Driver) Destroy(ctx context.Context, handle sandbox.Handle) error {
	if err := d.check(handle); err != nil {
		return err
	}
	m := d.machine(handle.ID)
	if m != nil {
		m.expectEnd()
	}
	// Before the turn: a verb that a hung kernel never answers must not stand
	// in the way of its end.
	if err := d.kill(ctx, handle.ID); err != nil {
		return fmt.Errorf("destroy sandbox %s: %w", handle.ID, err)
	}
	release, err := d.turns.take(ctx, handle.ID)
	if err != nil {
		return fmt.Errorf("destroy sandbox %s: %w", handle.ID, err)
	}
	defer release()
	if err := d.remove(ctx, handle.ID); err != nil {
		return fmt.Errorf("destroy sandbox %s: %w", handle.ID, err)
	}
	if m != nil {
		return m.Close() // which waits for the watcher to report the end
	}
	return nil
}

// remove removes every trace of machine id. The folder goes last: as long as
// anything is left, Leftovers finds the machine by it.
func (d *Driver) remove(ctx context.Context, id string) error {
	if err := d.kill(ctx, id); err != nil {
		return err
	}
	d.collect(id)
	f := d.folderOf(id)
	err := errors.Join(
		d.groups.group(id).remove(time.Now().Add(killTime)),
		wrap("detach network", d.options.Network.Detach(ctx, id)),
		wrap("unmount", unmountBelow(string(f))),
	)
	if err != nil {
		return err
	}
	return wrap("remove sandbox folder", os.RemoveAll(string(f)))
}

// Leftovers is part of sandbox.Driver.
func (d *Driver) Leftovers(context.Context) ([]sandbox.Handle, error) {
	entries, err := os.ReadDir(d.options.Root)
	if err != nil {
		return nil, fmt.Errorf("list sandboxes: %w", err)
	}
	var handles []sandbox.Handle
	for _, entry := range entries {
		if !entry.IsDir() || !idForm.MatchString(entry.Name()) {
			continue
		}
		handle, err := d.folderOf(entry.Name()).readHandle()
		if err != nil {
			return handles, fmt.Errorf("list sandboxes: %s: %w", entry.Name(), err)
		}
		handles = append(handles, handle)
	}
	return handles, nil
}

// unmountBelow takes away what is mounted below folder, the last mount first.
func unmountBelow(folder string) error {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	lines := strings.Split(string(table), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		fields := strings.Fields(lines[i])
		if len(fields) < 5 {
			continue
		}
		point := unescape(fields[4])
		if !strings.HasPrefix(point, folder+"/") {
			continue
		}
		if err := unix.Unmount(point, unix.MNT_DETACH); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s: %w", point, err)
		}
	}
	return nil
}

// unescape undoes mountinfo's way of writing blanks: \040 and the like.
func unescape(text string) string {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+3 < len(text) {
			if n, err := strconv.ParseUint(text[i+1:i+4], 8, 8); err == nil {
				out.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		out.WriteByte(text[i])
	}
	return out.String()
}

func wrap(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, err)
}
