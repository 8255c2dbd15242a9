package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// command runs a shell command for each notice.
type command struct {
	line string
	key  Key
}

// Command is a channel that runs a command with /bin/sh: the body is its
// standard input, the rest is in its environment.
func Command(line string, key Key) Channel { return command{line, key} }

// Name implements Channel.
func (command) Name() string { return "command" }

// Deliver implements Channel; exit code 0 means that it was taken. A command
// that takes too long is ended, with what it started.
func (c command) Deliver(ctx context.Context, n Notice) error {
	ctx, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	now := time.Now()
	var said tail
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", c.line)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(n.Body), &said, &said
	cmd.Env = append(os.Environ(), "PADDOCK_NOTICE_ID="+n.ID, "PADDOCK_NOTICE_TYPE="+n.Type,
		"PADDOCK_NOTICE_TIMESTAMP="+seconds(now), "PADDOCK_NOTICE_SIGNATURE="+c.key.Sign(n.ID, now, n.Body))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second // something that it left behind may hold its output
	if err := cmd.Run(); err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return fmt.Errorf("the command: %w: %s", err, said.String())
	}
	return nil
}

// tail keeps the end of what a command says.
type tail struct{ b []byte }

const tailSize = 200 // bytes

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	t.b = t.b[max(0, len(t.b)-tailSize):]
	return len(p), nil
}

// String is the end of it.
func (t *tail) String() string { return strings.TrimSpace(strings.ToValidUTF8(string(t.b), "")) }
