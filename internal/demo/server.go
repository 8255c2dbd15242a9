package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"paddock/client"
)

// server is the demo's server, started, killed and started again.
type server struct {
	exe, address, token string
	data, log           string // folder and file

	started bool // once
	cmd     *exec.Cmd
	waiter  sync.WaitGroup
	ended   chan struct{} // closed when cmd has ended
}

// start runs the program and waits until it serves calls.
func (s *server) start(ctx context.Context, api *client.Client) error {
	log, err := os.OpenFile(s.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the server's log: %w", err)
	}
	defer log.Close()
	cmd := exec.Command(s.exe, "serve", "--listen", s.address, "--data-dir", s.data, "--pool", "0")
	cmd.Env = append(os.Environ(), "PADDOCK_TOKEN="+s.token)
	cmd.Stdout, cmd.Stderr = log, log
	// In a group of its own an interrupt at the terminal does not reach it: the
	// demo needs it to clean up.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the server: %w", err)
	}
	s.started, s.cmd, s.ended = true, cmd, make(chan struct{})
	s.waiter.Go(func() {
		_ = cmd.Wait() // how it ended is judged by who ended it
		close(s.ended)
	})
	for {
		if _, err = api.Health(ctx); err == nil {
			return nil
		}
		if !s.running() {
			return errors.New("the server ended at once")
		}
		if late := pause(ctx, 50*time.Millisecond); late != nil {
			return fmt.Errorf("the server does not answer: %w", errors.Join(err, late))
		}
	}
}

func (s *server) running() bool {
	if s.cmd == nil {
		return false
	}
	select {
	case <-s.ended:
		return false
	default:
		return true
	}
}

// kill ends the server as a crash would.
func (s *server) kill() error {
	if err := s.cmd.Process.Kill(); err != nil {
		return fmt.Errorf("kill the server: %w", err)
	}
	s.waiter.Wait()
	return nil
}

// stop asks the server to end and sees to it.
func (s *server) stop(ctx context.Context) error {
	if !s.running() {
		return nil
	}
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop the server: %w", err)
	}
	const most = 10 * time.Second
	late := time.NewTimer(most)
	defer late.Stop()
	select {
	case <-s.ended:
		s.waiter.Wait()
		return nil
	case <-late.C:
	case <-ctx.Done():
	}
	return errors.Join(fmt.Errorf("the server did not end within %v of SIGTERM", most), s.kill())
}
