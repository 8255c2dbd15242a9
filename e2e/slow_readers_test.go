package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/digitalocean/godo"
)

// A crowd of streams that nobody reads holds neither the server's memory nor the
// readers who do read.
func TestStreamsNobodyReads(t *testing.T) {
	const (
		crowd  = 2000
		turns  = 10        // each some 200 KB to read
		grows  = 300 << 20 // of the server, in bytes: far less than the crowd asks for
		prompt = 2 * time.Second
	)
	s := startServer(t)
	id := s.create("agent: demo\n").SessionID
	for i := range turns {
		s.turn(id, fmt.Sprintf("turn %d: %s", i, strings.Repeat("x", 100<<10)))
	}
	before := s.memory()
	var opening sync.WaitGroup
	for i := range crowd {
		path := "/events"
		if i%2 == 0 {
			path = "/sessions/" + id + "/events"
		}
		opening.Go(func() { s.ignore(path) })
		if i%50 == 49 {
			opening.Wait()
		}
	}
	if t.Failed() {
		return
	}

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	frames, err := s.stream(ctx, "/sessions/"+id+"/events", "")
	if err != nil {
		t.Fatal(err)
	}
	events := make(chan godo.HostedAgentEvent)
	go func() {
		for {
			e, err := next(frames)
			if err != nil {
				return
			}
			events <- e
		}
	}()
	until := func(status string) (late time.Duration) {
		t.Helper()
		never := time.After(patience)
		for {
			select {
			case e := <-events:
				if strings.Contains(string(e.Payload), status) {
					return time.Since(e.At.Time)
				}
			case <-never:
				t.Fatalf("%s did not come", status)
			}
		}
	}
	until(fmt.Sprint("turn ", turns-1))
	most, slowest := s.memory(), time.Duration(0)
	for range 5 {
		if _, err := s.client().HostedAgents.PauseSession(ctx, id); err != nil {
			t.Fatal(err)
		}
		slowest = max(slowest, until("SESSION_STATUS_PAUSED"))
		if _, err := s.client().HostedAgents.ResumeSession(ctx, id); err != nil {
			t.Fatal(err)
		}
		slowest = max(slowest, until("SESSION_STATUS_READY"))
		most = max(most, s.memory())
	}
	t.Logf("with %d streams the server has at most %d MiB, %d MiB before; the slowest event came after %s", crowd, most>>20, before>>20, slowest)
	if slowest > prompt {
		t.Errorf("a reader got an event only after %s", slowest)
	}
	if most-before > grows {
		t.Errorf("%d streams that nobody reads cost %d MiB", crowd, (most-before)>>20)
	}
}

// ignore opens a stream of which nothing but the beginning of the answer is read
// while the test runs.
func (s *server) ignore(path string) {
	dialer := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) { // the kernels hold little for it, too
			_ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096)
			_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_MAXSEG, 536)
		})
	}}
	conn, err := dialer.Dial("tcp", s.addr)
	if err != nil {
		s.t.Error(err)
		return
	}
	s.t.Cleanup(func() { _ = conn.Close() })
	const want = "HTTP/1.1 200"
	got := make([]byte, len(want))
	_, err = fmt.Fprintf(conn, "GET /v2/harness-runtime%s HTTP/1.1\r\nHost: paddock\r\nAuthorization: Bearer %s\r\n\r\n", path, token)
	if err == nil {
		_, err = io.ReadFull(conn, got)
	}
	if err != nil || string(got) != want {
		s.t.Errorf("open %s: %q, %v", path, got, err)
	}
}

// memory is what the server has of the host's memory, in bytes.
func (s *server) memory() (bytes int64) {
	s.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", s.cmd.Process.Pid))
	if err != nil {
		s.t.Fatal(err)
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(text), &size, &resident); err != nil {
		s.t.Fatal(err)
	}
	return resident * int64(os.Getpagesize())
}
