package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"paddock/client"
)

const token = "bench-token"

// server is the program under measurement.
type server struct {
	options
	flags     []string // more of serve
	dir, addr string
	api       *client.Client
	cmd       *exec.Cmd
	done      chan error
}

// newServer starts a server in a folder of its own and waits until it answers.
func newServer(ctx context.Context, o options, flags ...string) (*server, error) {
	dir, err := os.MkdirTemp("", "paddock-bench-*")
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &server{options: o, flags: flags, dir: dir, addr: l.Addr().String()}
	if err := l.Close(); err != nil {
		return nil, err
	}
	if s.api, err = client.New("http://"+s.addr, token, client.Options{}); err != nil {
		return nil, err
	}
	return s, s.start(ctx)
}

// start starts the program on the server's folder, also again.
func (s *server) start(ctx context.Context) error {
	log, err := os.OpenFile(filepath.Join(s.dir, "server.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	args := []string{"serve", "--listen", s.addr, "--data-dir", s.dataDir(), "--template-dir", s.templates,
		"--max-active-sessions", strconv.Itoa(max(50, s.sessions))}
	s.cmd = exec.Command(s.program, append(args, s.flags...)...)
	s.cmd.Env = append(os.Environ(), "PADDOCK_TOKEN="+token)
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if err := s.cmd.Start(); err != nil {
		return err
	}
	done := make(chan error, 1)
	s.done = done
	cmd := s.cmd
	go func() { done <- cmd.Wait() }()
	return s.until(ctx, "the server answers", func() (bool, error) {
		_, err := s.api.Sessions(ctx, client.ListOptions{PageSize: 1})
		return err == nil, nil
	})
}

// kill ends the server as a power cut would.
func (s *server) kill() error {
	if err := s.cmd.Process.Kill(); err != nil {
		return err
	}
	<-s.done
	return nil
}

func (s *server) dataDir() string { return filepath.Join(s.dir, "data") }

// until waits for a condition, asking every millisecond.
func (s *server) until(ctx context.Context, what string, cond func() (bool, error)) error {
	deadline := time.After(2 * time.Minute)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		if ok, err := cond(); ok || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case err := <-s.done:
			s.done <- err
			return fmt.Errorf("the server ended before %s: %v", what, err)
		case <-deadline:
			return fmt.Errorf("not in two minutes: %s", what)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// waitReady follows the session's events until it is ready: asking again and
// again would take the processor from what is measured.
func (s *server) waitReady(ctx context.Context, id string) error {
	st, err := s.api.Events(ctx, id, client.EventsOptions{})
	if err != nil {
		return err
	}
	defer st.Close()
	for {
		ev, err := st.Next()
		if err != nil {
			return err
		}
		var state struct{ Status string }
		if ev.Type != "session.updated" {
			continue
		}
		if err := json.Unmarshal(ev.Data, &state); err != nil {
			return err
		}
		switch state.Status {
		case "SESSION_STATUS_READY":
			return nil
		case "SESSION_STATUS_FAILED":
			return errors.New("the session failed")
		}
	}
}

func (s *server) remove(ctx context.Context, id string) error {
	if err := s.api.RemoveSession(ctx, id); err != nil {
		return err
	}
	return s.until(ctx, "the session is destroyed", func() (bool, error) {
		sess, err := s.api.Session(ctx, id)
		return err == nil && sess.Status == "SESSION_STATUS_DESTROYED", err
	})
}

func (s *server) execTrue(ctx context.Context, id string) error {
	out, err := s.api.Exec(ctx, id, client.ExecRequest{Argv: []string{"/bin/true"}})
	if err == nil && out.ExitCode != 0 {
		err = fmt.Errorf("/bin/true exited with %d", out.ExitCode)
	}
	return err
}

// stop removes what sessions there are and ends the server.
func (s *server) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	err := s.removeAll(ctx)
	if e := s.cmd.Process.Signal(syscall.SIGTERM); e != nil {
		return errors.Join(err, e)
	}
	<-s.done
	return errors.Join(err, os.RemoveAll(s.dir))
}

// removeAll removes every session.
func (s *server) removeAll(ctx context.Context) error {
	for {
		list, err := s.api.Sessions(ctx, client.ListOptions{PageSize: 200})
		if err != nil || len(list.Sessions) == 0 {
			return err
		}
		err = eachOf(ctx, list.Sessions, func(ctx context.Context, one client.Session) error { return s.remove(ctx, one.SessionID) })
		if err != nil {
			return err
		}
	}
}

// atOnce is how many calls are in flight where many sessions are asked.
const atOnce = 16

// eachOf does fn for all, atOnce at a time.
func eachOf[T any](ctx context.Context, all []T, fn func(ctx context.Context, one T) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for _, one := range all {
		g.Go(func() error { return fn(ctx, one) })
	}
	return g.Wait()
}
