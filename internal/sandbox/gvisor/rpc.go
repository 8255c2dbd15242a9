package gvisor

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/control/client"
	"gvisor.dev/gvisor/runsc/boot"

	"paddock/internal/sandbox"
)

// maxSocketPath is the longest address of a unix socket, in bytes.
const maxSocketPath = 107

// call asks the machine's kernel, over its own socket as the libraries do, but
// gives up when ctx ends; then nobody knows what came of it.
func (f folder) call(ctx context.Context, id, method string, argument, result any) error {
	path := filepath.Join(f.runsc(), "runsc-"+id+".sock")
	if len(path) > maxSocketPath {
		fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("open the machine's socket: %w", err)
		}
		defer unix.Close(fd)
		path = fmt.Sprintf("/proc/self/fd/%d", fd)
	}
	conn, err := client.ConnectTo(path)
	if err != nil {
		return fmt.Errorf("connect to the machine: %w", err)
	}
	// The client's own Close would wait for the call.
	defer conn.Socket.Close()
	defer context.AfterFunc(ctx, func() { conn.Socket.Close() })()
	if err := conn.Call(method, argument, result); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		return fmt.Errorf("ask the machine: %w", err)
	}
	return nil
}

// observe asks the kernel of a machine whether it lives, and, where the status
// file has a word between, what came of the verb that was left unfinished.
func (f folder) observe(ctx context.Context, id string, was status) (status, error) {
	var state boot.ContainerRuntimeState
	if err := f.call(ctx, id, boot.ContMgrContainerRuntimeState, &id, &state); err != nil {
		return "", err
	}
	if state != boot.RuntimeStateRunning {
		return "", sandbox.ErrGone
	}
	if was == running || was == paused {
		return was, nil
	}
	is, err := f.look(ctx, id)
	if err != nil {
		return "", err
	}
	return is, f.writeStatus(is)
}

// look finds out by the kernel's goroutines whether it is paused; it looks
// until two looks say the same.
func (f folder) look(ctx context.Context, id string) (status, error) {
	var last status
	for {
		var dump string
		if err := f.call(ctx, id, boot.DebugStacks, nil, &dump); err != nil {
			return "", err
		}
		is := running
		if stacksPaused(dump) {
			is = paused
		}
		if is == last {
			return is, nil
		}
		last = is
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}
