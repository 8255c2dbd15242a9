package demoagent

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"
)

const (
	outputMax  = 32 << 10 // bytes of output that are shown; the rest is counted out
	shellGrace = 250 * time.Millisecond
)

// shellResult is how a command went.
type shellResult struct {
	code     int // exit status, or 128 plus the signal
	output   string
	detached bool // a child still holds the output and goes on
}

// runShell runs a command with /bin/sh and shows its output as it comes, stdout
// and stderr together. It returns when the shell ends. The end of ctx kills the
// command's process group.
func (a *agent) runShell(ctx context.Context, dir, command string, show func(soFar string)) (shellResult, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return shellResult{}, err
	}
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", command)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, w, w
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	err = cmd.Start()
	_ = w.Close()
	if err != nil {
		_ = r.Close()
		return shellResult{}, err
	}
	chunks := make(chan []byte)
	quit := make(chan struct{})
	a.work.Go(func() { drain(a.ctx, r, chunks, quit) })
	var screen screen
	ended := make(chan error, 1)
	a.work.Go(func() { ended <- cmd.Wait() })
	var over <-chan time.Time
	for {
		select {
		case b, more := <-chunks:
			if !more {
				if over == nil {
					err = <-ended
				}
				return shellResult{code: exitCode(cmd), output: screen.String()}, startedError(err)
			}
			if screen.add(b) {
				show(screen.String())
			}
		case err = <-ended:
			over = time.After(shellGrace)
		case <-over:
			close(quit)
			return shellResult{code: exitCode(cmd), output: screen.String(), detached: true}, startedError(err)
		}
	}
}

// drain reads the pipe to its end or the agent's, so that a child which outlives
// the command can go on writing; chunks are given away until quit is closed.
func drain(ctx context.Context, r *os.File, chunks chan<- []byte, quit <-chan struct{}) {
	defer r.Close()
	defer close(chunks)
	stop := context.AfterFunc(ctx, func() { _ = r.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	buf := make([]byte, 8<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			select {
			case chunks <- append([]byte(nil), buf[:n]...):
			case <-quit:
			}
		}
		if err != nil {
			return
		}
	}
}

// startedError keeps only errors that are none of the command's own.
func startedError(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

func exitCode(cmd *exec.Cmd) int {
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return cmd.ProcessState.ExitCode()
}

// screen gathers output, whole code points of it, up to outputMax.
type screen struct {
	shown strings.Builder
	part  []byte // the beginning of a code point
	full  bool
}

// add takes a chunk and says whether there is more to show.
func (s *screen) add(b []byte) bool {
	if s.full {
		return false
	}
	b = append(s.part, b...)
	cut := len(b)
	for back := 1; back < utf8.UTFMax && back <= len(b); back++ {
		if utf8.RuneStart(b[len(b)-back]) {
			if !utf8.FullRune(b[len(b)-back:]) {
				cut = len(b) - back
			}
			break
		}
	}
	s.part = append([]byte(nil), b[cut:]...)
	s.shown.WriteString(strings.ToValidUTF8(string(b[:cut]), "\uFFFD"))
	if s.shown.Len() > outputMax {
		s.full = true
	}
	return cut > 0
}

func (s *screen) String() string {
	if s.full {
		return clip(s.shown.String(), outputMax) + "\n(the rest is not shown)"
	}
	return s.shown.String()
}
