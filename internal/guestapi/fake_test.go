package guestapi

import (
	"context"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"paddock/internal/fault"
	"paddock/internal/id"
)

// echoGuest answers every call with what it was given.
type echoGuest struct {
	prompt   func(id.Run, Prompt) error
	hold     chan struct{} // Drain blocks until it is closed, or ctx is over
	draining chan struct{} // told when a Drain has begun
	files    []File
	content  io.Reader
}

func (g *echoGuest) Configure(context.Context, Config) error {
	return fault.Wrap(io.ErrNoProgress, fault.Conflict, "the session is another")
}

func (g *echoGuest) Prompt(_ context.Context, run id.Run, p Prompt) error {
	if g.prompt == nil {
		return nil
	}
	return g.prompt(run, p)
}
func (g *echoGuest) Cancel(context.Context, id.Run) (CancelOutcome, error) { return CancelNoTurn, nil }
func (g *echoGuest) Answer(context.Context, string, Answer) error          { return nil }

func (g *echoGuest) StartExec(_ context.Context, _ id.Exec, r ExecRequest, wait time.Duration) (ExecProgress, error) {
	return ExecProgress{Stdout: r.Stdin, StdoutEOF: true, StderrEOF: true, Exit: &ExecExit{Code: 3, Duration: wait}}, nil
}

func (g *echoGuest) PollExec(_ context.Context, e id.Exec, _, _ int64, _ time.Duration) (ExecProgress, error) {
	return ExecProgress{}, fault.New(fault.NotFound, "there is no exec %s", e)
}
func (g *echoGuest) EndExec(context.Context, id.Exec) error            { return nil }
func (g *echoGuest) ListFiles(context.Context, string) ([]File, error) { return g.files, nil }

func (g *echoGuest) ReadFile(_ context.Context, path string, _, _ int64) (File, io.ReadCloser, error) {
	return File{Name: path, Type: "file"}, io.NopCloser(g.content), nil
}

func (g *echoGuest) Relieve(_ context.Context, need int64) (int, error) { return int(need), nil }
func (g *echoGuest) Drain(ctx context.Context) error {
	if g.hold == nil {
		return nil
	}
	if g.draining != nil {
		close(g.draining)
	}
	select {
	case <-g.hold:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// hostFunc is a Host that is one function.
type hostFunc func(context.Context, Batch) (Ack, error)

func (f hostFunc) Report(ctx context.Context, b Batch) (Ack, error) { return f(ctx, b) }

func acceptAll(hello Hello) Welcome { return Welcome{Epoch: hello.Epoch + 1} }

const secret = "0123456789abcdef"

func hello() Hello {
	return Hello{Version: Version, Oldest: OldestVersion, Secret: secret, Build: "test"}
}

// sockets gives the two ends of a unix socket connection.
func sockets(t testing.TB) (host, guest net.Conn) {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if guest, err = net.Dial("unix", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if host, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	return host, guest
}

type pair struct {
	link   *Link
	uplink *Uplink
}

// connect shakes hands over a unix socket and closes both ends with the test.
func connect(t *testing.T, g Guest, h Host) pair {
	t.Helper()
	hostConn, guestConn := sockets(t)
	type result struct {
		up  *Uplink
		err error
	}
	dialled := make(chan result, 1)
	go func() {
		up, err := Dial(t.Context(), guestConn, hello(), g)
		dialled <- result{up, err}
	}()
	link, err := Accept(t.Context(), hostConn, secret, acceptAll, h)
	if err != nil {
		t.Fatal(err)
	}
	r := <-dialled
	if r.err != nil {
		t.Fatal(r.err)
	}
	t.Cleanup(func() {
		link.Close()
		r.up.Close()
	})
	return pair{link, r.up}
}

// failingReader is a reader of n bytes that then fails with err.
func failingReader(n int, err error) io.Reader {
	return io.MultiReader(strings.NewReader(strings.Repeat("x", n)), readerFunc(func([]byte) (int, error) { return 0, err }))
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }
