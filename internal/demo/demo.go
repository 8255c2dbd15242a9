package demo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"paddock/client"
	"paddock/internal/agents/installed"
	"paddock/internal/clientcontext"
	"paddock/internal/trial"
)

// Options say how to show the demo.
type Options struct {
	Out  io.Writer // the story, one line a step
	Exe  string    // the paddock program, started as the demo's server
	Keep bool      // leave the temporary folder
}

// limit is how long all of it may take; a clean-up has as long as patience.
const (
	limit    = 2 * time.Minute
	patience = 30 * time.Second
)

// show is one demo under way.
type show struct {
	Options
	host   trial.Host
	dir    string // everything of it lies there
	api    *client.Client
	server *trial.Server
	real   real

	sandbox string // id; empty until the session is ready
	pid     string // of the background process, inside
	count   int64  // how far that had counted
}

// session is what the demo calls its session.
const session = "demo"

// Run leads a session through its life and returns the first step's error that
// does not go as it must. Whatever happens, also when ctx ends, nothing of it
// is left on the host.
func Run(ctx context.Context, o Options) (err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	began := time.Now()
	d := &show{Options: o, host: trial.ThisHost()}
	if err := d.open(); err != nil {
		return err
	}
	folder := installed.At(filepath.Join(clientcontext.Here().DataDir, "agents"))
	var why string
	if d.real, why = findReal(folder); why == "" {
		d.server.Args = []string{"--agents", folder.Dir()}
	}
	defer func() {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		if err != nil && ctx.Err() == nil {
			d.tail()
		}
		if left := d.close(clean); left != nil {
			left = fmt.Errorf("clean up: %w", left)
			fmt.Fprintln(o.Out, left) // an interrupt would hide it
			err = errors.Join(err, left)
		}
	}()
	for i, s := range d.steps() {
		start := time.Now()
		fact, err := s.do(ctx)
		if errors.Is(ctx.Err(), context.Canceled) {
			fmt.Fprintf(o.Out, "%2d … %s: interrupted, cleaning up\n", i+1, s.title)
			return ctx.Err()
		}
		if err != nil {
			fmt.Fprintf(o.Out, "%2d ✗ %s\n", i+1, s.title)
			return fmt.Errorf("%s: %w", s.title, err)
		}
		fmt.Fprintf(o.Out, "%2d ✓ %-50s %5.1f s  %s\n", i+1, s.title, time.Since(start).Seconds(), fact)
	}
	if why != "" {
		fmt.Fprintf(o.Out, "   - %s\n", why)
	}
	fmt.Fprintf(o.Out, "\nEverything held, in %.0f s.\n", time.Since(began).Seconds())
	return nil
}

// open makes the folder and finds a free port; nothing runs yet.
func (d *show) open() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("find a free port: %w", err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		return fmt.Errorf("find a free port: %w", err)
	}
	if d.dir, err = os.MkdirTemp("", "paddock-demo-"); err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	token := rand.Text()
	d.server = &trial.Server{Exe: d.Exe, Address: address, Token: token, Data: filepath.Join(d.dir, "data"), Log: filepath.Join(d.dir, "server.log")}
	if d.api, err = client.New("http://"+address, token, client.Options{}); err != nil {
		return errors.Join(err, os.RemoveAll(d.dir))
	}
	fmt.Fprintf(d.Out, "A session's life, each step checked from outside. Server on %s, folder %s.\n\n", address, d.dir)
	return nil
}

// serves says whether the server serves calls.
func (d *show) serves(ctx context.Context) error {
	_, err := d.api.Health(ctx)
	return err
}

// close removes whatever a step left. It asks the server to, starting it again
// if need be, and ends by force what remains even then.
func (d *show) close(ctx context.Context) error {
	var errs []error
	if d.server.Started {
		if !d.server.Running() {
			errs = append(errs, d.server.Start(ctx, d.serves))
		}
		if d.server.Running() {
			errs = append(errs, d.removeAll(ctx), d.server.Stop(ctx))
		}
	}
	left, err := d.host.Left(d.dir)
	if left != "" {
		errs = append(errs, errors.New(left))
		d.host.Sweep(d.dir)
	}
	errs = append(errs, err)
	if d.Keep {
		fmt.Fprintf(d.Out, "Kept: %s\n", d.dir)
	} else {
		errs = append(errs, os.RemoveAll(d.dir))
	}
	return errors.Join(errs...)
}

// removeAll removes the session if it is there.
func (d *show) removeAll(ctx context.Context) error {
	s, err := d.api.Session(ctx, session)
	if client.IsCode(err, "not_found") || err == nil && s.Status == client.SessionDestroyed {
		return nil
	}
	if err != nil {
		return err
	}
	if err := d.api.RemoveSession(ctx, s.SessionID); err != nil {
		return err
	}
	_, err = d.await(ctx, s.SessionID, client.SessionDestroyed)
	return err
}

// await waits until the session has a state; it is an error if it fails.
func (d *show) await(ctx context.Context, ref, status string) (client.Session, error) {
	for {
		s, err := d.api.Session(ctx, ref)
		switch {
		case err != nil || s.Status == status:
			return s, err
		case s.Status == client.SessionFailed:
			return s, fmt.Errorf("the session failed: %s", s.Message)
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return s, fmt.Errorf("the session is still %s: %w", s.Status, err)
		}
	}
}

// pause lets time pass, for a measurement or between two looks.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// tail prints the end of the server's log.
func (d *show) tail() {
	b, err := os.ReadFile(d.server.Log)
	if err != nil || len(b) == 0 {
		return
	}
	lines := strings.Split(strings.TrimRight(string(b), "\n"), "\n")
	fmt.Fprintf(d.Out, "\nThe server's last words:\n  %s\n", strings.Join(lines[max(0, len(lines)-20):], "\n  "))
}
