package gvisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/control/client"
	"gvisor.dev/gvisor/runsc/boot"
	"gvisor.dev/gvisor/runsc/container"

	"paddock/internal/sandbox"
)

// maxSocketPath is the longest address of a unix socket, in bytes.
const maxSocketPath = 107

// direct is the control of a machine by the gVisor in this program.
type direct struct {
	folder folder
	id     string
}

func (c direct) find(context.Context) (kernel, gofer int, err error) {
	box, err := container.Load(c.folder.runsc(), container.FullID{SandboxID: c.id, ContainerID: c.id},
		container.LoadOpts{Exact: true, SkipCheck: true, TryLock: container.TryAcquire})
	if errors.Is(err, os.ErrNotExist) {
		return 0, 0, sandbox.ErrGone
	}
	if err != nil {
		return 0, 0, fmt.Errorf("load machine: %w", err)
	}
	return box.Sandbox.Getpid(), box.GoferPid.Load(), nil
}

func (c direct) tell(ctx context.Context, v verb) error { return c.call(ctx, v.method, nil, nil) }

func (c direct) goOn(ctx context.Context) error {
	return c.call(ctx, boot.ContMgrSignal, &boot.SignalArgs{CID: c.id, Signo: int32(unix.SIGCONT), Mode: boot.DeliverToProcess}, nil)
}

func (c direct) observe(ctx context.Context, was status) (status, error) {
	var state boot.ContainerRuntimeState
	if err := c.call(ctx, boot.ContMgrContainerRuntimeState, &c.id, &state); err != nil {
		return "", err
	}
	if state != boot.RuntimeStateRunning {
		return "", sandbox.ErrGone
	}
	if was == running || was == paused {
		return was, nil
	}
	return c.look(ctx)
}

// look finds out by the kernel's goroutines whether it is paused; it looks
// until two looks say the same.
func (c direct) look(ctx context.Context) (status, error) {
	var last status
	for {
		var dump string
		if err := c.call(ctx, boot.DebugStacks, nil, &dump); err != nil {
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

// call asks the machine's kernel, over its own socket as the libraries do, but
// gives up when ctx ends; then nobody knows what came of it.
func (c direct) call(ctx context.Context, method string, argument, result any) error {
	path := filepath.Join(c.folder.runsc(), "runsc-"+c.id+".sock")
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
