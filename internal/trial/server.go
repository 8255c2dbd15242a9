package trial

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// Server is a server of our own, which may be killed and started again. It is
// for one goroutine at a time.
type Server struct {
	Exe     string // the paddock program
	Address string // host:port to listen on
	Token   string
	Data    string   // folder; it is told as --data-dir
	Log     string   // file that its output is added to
	Args    []string // more for serve

	Started bool // once, and not ended in order since
	cmd     *exec.Cmd
	waiter  sync.WaitGroup
	ended   chan struct{} // closed when cmd has ended
}

// Start runs the program and waits until serves says that it serves calls.
func (s *Server) Start(ctx context.Context, serves func(context.Context) error) error {
	log, err := os.OpenFile(s.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the server's log: %w", err)
	}
	defer log.Close()
	cmd := exec.Command(s.Exe, append([]string{"serve", "--listen", s.Address, "--data-dir", s.Data, "--pool", "0"}, s.Args...)...)
	cmd.Env = append(os.Environ(), "PADDOCK_TOKEN="+s.Token)
	cmd.Stdout, cmd.Stderr = log, log
	// In a group of its own an interrupt at the terminal does not reach it: it is
	// needed to clean up.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the server: %w", err)
	}
	s.Started, s.cmd, s.ended = true, cmd, make(chan struct{})
	s.waiter.Go(func() {
		_ = cmd.Wait() // how it ended is judged by who ended it
		close(s.ended)
	})
	for {
		if err = serves(ctx); err == nil {
			return nil
		}
		if !s.Running() {
			return errors.New("the server ended at once")
		}
		if late := pause(ctx); late != nil {
			return fmt.Errorf("the server does not answer: %w", errors.Join(err, late))
		}
	}
}

// Running says whether its process is there.
func (s *Server) Running() bool {
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

// Pid is the process of the server last started.
func (s *Server) Pid() int { return s.cmd.Process.Pid }

// Kill ends the server as a crash would.
func (s *Server) Kill() error {
	if err := s.cmd.Process.Kill(); err != nil {
		return fmt.Errorf("kill the server: %w", err)
	}
	s.waiter.Wait()
	return nil
}

// Stop asks the server to end and sees to it.
func (s *Server) Stop(ctx context.Context) error {
	if !s.Running() {
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
	return errors.Join(fmt.Errorf("the server did not end within %v of SIGTERM", most), s.Kill())
}

// pause lets a moment pass between two looks.
func pause(ctx context.Context) error {
	t := time.NewTimer(50 * time.Millisecond)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
