package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/digitalocean/godo"

	"paddock/e2e/host"
)

// patience is how long a condition may take to come true before a test fails.
const patience = 60 * time.Second

const token = "e2e-token"

// server is one `paddock serve` on a folder of its own, which may be killed and
// started again.
type server struct {
	t       *testing.T
	dir     string
	addr    string
	env     []string
	program string   // what is started as the server
	under   []string // the command that starts it; empty: none
	pool    string   // how many spare machines it has; empty: what it has by itself
	args    []string
	log     *logBuffer
	cmd     *exec.Cmd
	done    chan struct{} // closed when cmd has ended
}

// logBuffer keeps what servers say, for the report of a failed test.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// startServer starts a server and, when the test ends, removes its sessions,
// stops it and asserts that nothing of it is left on the host.
func startServer(t *testing.T, args ...string) *server {
	t.Helper()
	s := newServer(t, args...)
	s.start()
	s.waitServing()
	return s
}

// newServer is startServer that does not start it.
func newServer(t *testing.T, args ...string) *server {
	t.Helper()
	dir, err := os.MkdirTemp("", "paddock-e2e-data-*")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, dir: dir, addr: freePort(t), program: program, pool: spares(), args: args, log: &logBuffer{}}
	t.Cleanup(s.cleanUp)
	return s
}

func freePort(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func (s *server) start() {
	s.t.Helper()
	argv := append(slices.Clone(s.under), s.program, "serve", "--listen", s.addr, "--data-dir", s.dir, "--log-level", "debug")
	if s.pool != "" {
		argv = append(argv, "--pool", s.pool)
	}
	argv = append(argv, s.args...)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(append(os.Environ(), "PADDOCK_TOKEN="+token), s.env...)
	cmd.Stdout, cmd.Stderr = s.log, s.log
	cmd.WaitDelay = 20 * time.Second // a sandbox that kept our pipe would show here
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	done := make(chan struct{})
	s.cmd, s.done = cmd, done
	go func() {
		defer close(done)
		if err := cmd.Wait(); errors.Is(err, exec.ErrWaitDelay) {
			fmt.Fprintln(s.log, "SOMEBODY KEPT THE SERVER'S OUTPUT OPEN")
		}
	}()
}

// spares is how many spare sandboxes a server keeps whose test does not say: none,
// for most tests would never use one. PADDOCK_TEST_POOL has all tests run with
// some.
func spares() string {
	if n := os.Getenv("PADDOCK_TEST_POOL"); n != "" {
		return n
	}
	return "0"
}

func (s *server) waitServing() {
	s.t.Helper()
	eventually(s.t, "healthz is 200", func() bool {
		r, err := http.Get("http://" + s.addr + "/healthz")
		if err != nil {
			select {
			case <-s.done:
				s.t.Fatalf("the server ended:\n%s", s.log)
			default:
			}
			return false
		}
		defer r.Body.Close()
		return r.StatusCode == http.StatusOK
	})
}

// kill ends the server at once, as a crash would.
func (s *server) kill() {
	s.t.Helper()
	_ = s.cmd.Process.Kill()
	<-s.done
}

// stop ends the server as an operator would; it has 10 s.
func (s *server) stop() {
	s.t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		s.t.Fatal(err)
	}
	select {
	case <-s.done:
	case <-time.After(10 * time.Second):
		s.t.Errorf("the server was still there 10 s after SIGTERM")
		s.kill()
	}
}

// restart starts a server on the same folder and port, with no environment of
// the one before.
func (s *server) restart() {
	s.t.Helper()
	s.env = nil
	s.start()
	s.waitServing()
}

func (s *server) alive() bool {
	if s.done == nil {
		return false
	}
	select {
	case <-s.done:
		return false
	default:
		return true
	}
}

func (s *server) cleanUp() {
	t := s.t
	defer func() {
		if t.Failed() {
			t.Logf("server log:\n%s", s.log)
		}
	}()
	if !s.alive() {
		s.restart()
	}
	s.removeAll()
	s.stop()
	eventually(t, "no process or mount names the data folder", func() bool {
		return len(host.Processes(s.dir)) == 0 && len(host.Mounts(s.dir)) == 0
	})
	if strings.Contains(s.log.String(), "KEPT THE SERVER'S OUTPUT OPEN") {
		t.Error("a sandbox kept the server's output open")
	}
	if err := os.RemoveAll(s.dir); err != nil {
		t.Errorf("remove data folder: %v", err)
	}
}

// removeAll removes every session and waits until the driver's folder is empty.
func (s *server) removeAll() {
	s.t.Helper()
	c, ctx, all := s.client(), context.Background(), s.everySession()
	for _, sess := range all {
		if _, err := c.HostedAgents.DestroySession(ctx, sess.SessionID); err != nil {
			s.t.Errorf("remove %s: %v", sess.SessionID, err)
		}
	}
	for _, sess := range all {
		s.waitStatus(sess.SessionID, godo.HostedAgentSessionStatusDestroyed)
		if sess.SandboxID != "" {
			s.assertGone(sess.SandboxID)
		}
	}
}

// assertGone asserts that nothing on the host names the sandbox.
func (s *server) assertGone(sandbox string) {
	s.t.Helper()
	for what, left := range s.traces(sandbox) {
		if len(left) > 0 {
			s.t.Errorf("of removed sandbox %s there are %s: %v", sandbox, what, left)
		}
	}
}

// waitGone waits until nothing on the host names the sandbox.
func (s *server) waitGone(sandbox string) {
	s.t.Helper()
	eventually(s.t, "nothing is left of sandbox "+sandbox, func() bool {
		for _, left := range s.traces(sandbox) {
			if len(left) > 0 {
				return false
			}
		}
		return true
	})
}

// traces is what on the host names the sandbox.
func (s *server) traces(sandbox string) map[string][]string {
	return map[string][]string{
		"processes": texts(host.Processes(sandbox)), "mounts": host.Mounts(sandbox),
		"cgroups": host.Cgroups(sandbox), "files": host.Names(s.dir, sandbox), "sockets": host.Names("/run", sandbox),
	}
}

func texts[T any](in []T) []string {
	var out []string
	for _, v := range in {
		out = append(out, fmt.Sprint(v))
	}
	return out
}

// client is the public client, pointed at the server.
func (s *server) client() *godo.Client {
	return s.clientWith(token)
}

func (s *server) clientWith(token string) *godo.Client {
	c := godo.NewFromToken(token)
	base, err := url.Parse("http://" + s.addr + "/")
	if err != nil {
		s.t.Fatal(err)
	}
	c.BaseURL = base
	return c
}

// cli runs the program's command line against the server.
func (s *server) cli(args ...string) (stdout, stderr string, code int) {
	s.t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), "PADDOCK_URL=http://"+s.addr, "PADDOCK_TOKEN="+token, "HOME="+filepath.Join(s.dir, "home"))
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Fatalf("run paddock %v: %v", args, err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if cond() {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("not within %s: %s", patience, what)
		case <-tick.C:
		}
	}
}
