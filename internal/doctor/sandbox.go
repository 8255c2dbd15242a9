package doctor

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"paddock/client"
	"paddock/internal/trial"
)

// patient bounds the clean-up, which an interrupt does not end.
const patient = 30 * time.Second

// bench is the server of our own that the sandbox is tried on.
type bench struct {
	api    *client.Client
	server *trial.Server
	dir    string
	host   trial.Host
	id     string // of the session
	box    string // of its sandbox
}

// sandbox starts a sandbox for real, on a server and a folder of its own, and
// removes both without a trace.
func (d *doctor) sandbox(ctx context.Context) (err error) {
	if !d.Root {
		d.look(ctx, looking{"sandbox", func(context.Context) Check { return skipped("needs root: nothing was started") }})
		return nil
	}
	if d.ill > 0 {
		d.look(ctx, looking{"sandbox", func(context.Context) Check { return skipped("nothing was started: see above") }})
		return nil
	}
	b, err := d.open()
	if err != nil {
		return err
	}
	defer func() {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), patient)
		defer cancel()
		d.look(clean, looking{"no trace", func(ctx context.Context) Check { return b.close(ctx) }})
	}()
	for _, step := range []looking{
		{"own server", b.serve}, {"sandbox", b.create}, {"command", b.command}, {"pause", b.pause}, {"resume", b.resume}, {"removal", b.remove},
	} {
		if c := d.look(ctx, step); c.Status == Failed {
			return ctx.Err()
		}
	}
	return ctx.Err()
}

func (d *doctor) open() (*bench, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("find a free port: %w", err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		return nil, fmt.Errorf("find a free port: %w", err)
	}
	dir, err := os.MkdirTemp("", "paddock-doctor-")
	if err != nil {
		return nil, fmt.Errorf("make folder: %w", err)
	}
	token := rand.Text()
	api, err := client.New("http://"+address, token, client.Options{})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &bench{api: api, dir: dir, host: trial.ThisHost(), server: &trial.Server{
		Exe: d.Exe, Address: address, Token: token, Data: filepath.Join(dir, "data"), Log: filepath.Join(dir, "server.log"),
		Args: []string{"--template-dir", d.TemplateDir},
	}}, nil
}

func (b *bench) serve(ctx context.Context) Check {
	err := b.server.Start(ctx, func(ctx context.Context) error { _, err := b.api.Health(ctx); return err })
	if err != nil {
		return failed(b.lastWords(), "%v", err)
	}
	return ok("on %s, folder %s", b.server.Address, b.dir)
}

// lastWords is the end of the server's log.
func (b *bench) lastWords() string {
	text, err := os.ReadFile(b.server.Log)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if err != nil || lines[0] == "" {
		return ""
	}
	return "it said: " + lines[len(lines)-1]
}

func (b *bench) create(ctx context.Context) Check {
	s, err := b.api.CreateSession(ctx, []byte("name: doctor\nagent: none\n"), client.CreateOptions{})
	if err != nil {
		return failed(b.lastWords(), "%v", err)
	}
	b.id = s.SessionID
	if s, err = b.await(ctx, client.SessionReady); err != nil {
		return failed(b.lastWords(), "%v", err)
	}
	b.box = s.SandboxID
	if s.Limits == "none" {
		return warning("let the server make cgroups: run it as root of the host, or delegate them to its container", "starts, isolated by %s; limits of CPU and memory are not in force", s.Isolation)
	}
	return ok("starts, isolated by %s; limits in force by %s", s.Isolation, s.Limits)
}

// await waits until the session has a state; it is an error if it fails.
func (b *bench) await(ctx context.Context, status string) (client.Session, error) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		s, err := b.api.Session(ctx, b.id)
		switch {
		case err != nil || s.Status == status:
			return s, err
		case s.Status == client.SessionFailed:
			return s, errors.New(s.Message)
		}
		select {
		case <-ctx.Done():
			return s, ctx.Err()
		case <-tick.C:
		}
	}
}

func (b *bench) command(ctx context.Context) Check {
	word := rand.Text()
	o, err := b.api.Exec(ctx, b.id, client.ExecRequest{Argv: []string{"sh", "-c", "echo " + word + "; uname -r"}})
	if err != nil {
		return failed(b.lastWords(), "%v", err)
	}
	said, kernel, _ := strings.Cut(strings.TrimSpace(o.Stdout), "\n")
	if said != word || o.ExitCode != 0 {
		return failed("", "a command answered %q with exit code %d", o.Stdout, o.ExitCode)
	}
	return ok("runs, under a kernel of its own (%s)", kernel)
}

func (b *bench) pause(ctx context.Context) Check {
	if _, err := b.api.Pause(ctx, b.id); err != nil {
		return failed(b.lastWords(), "%v", err)
	}
	return ok("frozen with its processes")
}

func (b *bench) resume(ctx context.Context) Check {
	err := b.api.Resume(ctx, b.id)
	if err == nil {
		_, err = b.api.Exec(ctx, b.id, client.ExecRequest{Argv: []string{"true"}})
	}
	if err != nil {
		return failed(b.lastWords(), "%v", err)
	}
	return ok("goes on and answers")
}

func (b *bench) remove(ctx context.Context) Check {
	err := b.api.RemoveSession(ctx, b.id)
	if err == nil {
		_, err = b.await(ctx, client.SessionDestroyed)
	}
	left := ""
	if err == nil {
		left, err = b.host.Left(b.box)
	}
	switch {
	case err != nil:
		return failed(b.lastWords(), "%v", err)
	case left != "":
		return failed("", "%s", left)
	}
	return ok("no process, mount or control group of it is left")
}

// close ends the server and removes all of it, whatever step it came to.
func (b *bench) close(ctx context.Context) Check {
	var errs []error
	if b.server.Started && b.server.Running() {
		if b.id != "" { // again is no error
			errs = append(errs, b.api.RemoveSession(ctx, b.id))
			_, err := b.await(ctx, client.SessionDestroyed)
			errs = append(errs, err)
		}
		errs = append(errs, b.server.Stop(ctx))
	}
	left, err := b.host.Left(b.dir)
	if left != "" {
		errs = append(errs, errors.New(left))
		b.host.Sweep(b.dir)
	}
	if err := errors.Join(append(errs, err, os.RemoveAll(b.dir))...); err != nil {
		return failed("", "%v", err)
	}
	return ok("of the trial is left: server and folder are gone")
}
