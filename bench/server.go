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
	"syscall"
	"time"

	"paddock/client"
)

const token = "bench-token"

// server is the program under measurement.
type server struct {
	dir  string
	api  *client.Client
	cmd  *exec.Cmd
	done chan error
}

func startServer(ctx context.Context, program, templates string) (*server, error) {
	dir, err := os.MkdirTemp("", "paddock-bench-*")
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(dir, "server.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	s := &server{dir: dir, done: make(chan error, 1)}
	s.cmd = exec.Command(program, "serve", "--listen", addr, "--data-dir", filepath.Join(dir, "data"), "--template-dir", templates)
	s.cmd.Env = append(os.Environ(), "PADDOCK_TOKEN="+token)
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { s.done <- s.cmd.Wait() }()
	if s.api, err = client.New("http://"+addr, token, client.Options{}); err != nil {
		return nil, err
	}
	return s, s.until(ctx, "the server answers", func() (bool, error) {
		_, err := s.api.Health(ctx)
		return err == nil, nil
	})
}

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
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	list, err := s.api.Sessions(ctx, client.ListOptions{})
	for _, sess := range list.Sessions {
		err = errors.Join(err, s.remove(ctx, sess.SessionID))
	}
	if e := s.cmd.Process.Signal(syscall.SIGTERM); e != nil {
		return errors.Join(err, e)
	}
	<-s.done
	return errors.Join(err, os.RemoveAll(s.dir))
}
