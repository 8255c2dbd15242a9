package gvisor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// status is what a machine's kernel is doing, as the file of that name has it.
// A verb writes the word between before it asks the kernel and the word after
// when the kernel has answered; who finds a word between, after a killed
// server, asks the kernel (see control.observe). The kernel counts pauses and
// dies of one resume too many, so it is never asked twice.
type status string

const (
	running  status = "running"
	pausing  status = "pausing"
	paused   status = "paused"
	resuming status = "resuming"
)

func (f folder) writeStatus(s status) error {
	if err := replaceFile(f.status(), []byte(s), 0o600); err != nil {
		return fmt.Errorf("write status: %w", err)
	}
	return nil
}

// readStatus gives "" for a machine whose start never came to its end.
func (f folder) readStatus() (status, error) {
	text, err := os.ReadFile(f.status())
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read status: %w", err)
	}
	return status(text), nil
}

// stacksPaused reads a dump of the kernel's goroutines: it is paused when the
// goroutine of every task waits to be let go on.
func stacksPaused(dump string) bool {
	tasks, stopped := 0, 0
	for stack := range strings.SplitSeq(dump, "\n\n") {
		if !strings.Contains(stack, "kernel.(*Task).run(") {
			continue
		}
		tasks++
		if strings.Contains(stack, "kernel.(*Task).doStop(") {
			stopped++
		}
	}
	return tasks > 0 && stopped == tasks
}
