package sandboxtest

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"paddock/internal/sandbox"
)

// wait bounds every wait of the suite.
const wait = 60 * time.Second

// BuildGuest compiles the suite's guest into folder as paddock-guest, the
// program that a driver under test runs as pid 1.
func BuildGuest(folder string) error {
	cmd := exec.Command("go", "build", "-o", filepath.Join(folder, "paddock-guest"), "paddock/internal/sandbox/sandboxtest/testguest")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	return cmd.Run()
}

// request and answer are the same as the guest's.
type request struct {
	Op   string
	UID  uint32
	Pid  int
	Args []string
}

type answer struct {
	Secret string
	Pid    int
	Code   int
	Output string
	Ticks  int64
	Error  string
}

// Guest is the connection to a machine's guest.
type Guest struct {
	t     *testing.T
	conn  net.Conn
	lines *bufio.Reader
	// Secret is what the guest showed when it dialled.
	Secret string
}

// Accept waits for the machine's guest to dial.
func Accept(t *testing.T, m sandbox.Machine) *Guest {
	t.Helper()
	listener, ok := m.Control().(interface {
		net.Listener
		SetDeadline(time.Time) error
	})
	if !ok {
		t.Fatalf("control listener %T has no deadline", m.Control())
	}
	if err := listener.SetDeadline(time.Now().Add(wait)); err != nil {
		t.Fatalf("set deadline: %v", err)
	}
	conn, err := listener.Accept()
	if err != nil {
		t.Fatalf("the guest did not dial: %v", err)
	}
	t.Cleanup(func() { conn.Close() })
	g := &Guest{t: t, conn: conn, lines: bufio.NewReader(conn)}
	g.Secret = strings.TrimSpace(g.read().Secret)
	return g
}

// ask sends r and waits for the answer.
func (g *Guest) ask(r request) answer {
	g.t.Helper()
	g.send(r)
	return g.read()
}

func (g *Guest) send(r request) {
	g.t.Helper()
	doc, err := json.Marshal(r)
	if err != nil {
		g.t.Fatal(err)
	}
	if _, err := g.conn.Write(append(doc, '\n')); err != nil {
		g.t.Fatalf("write to the guest: %v", err)
	}
}

func (g *Guest) read() answer {
	g.t.Helper()
	if err := g.conn.SetReadDeadline(time.Now().Add(wait)); err != nil {
		g.t.Fatal(err)
	}
	line, err := g.lines.ReadBytes('\n')
	if err != nil {
		g.t.Fatalf("read from the guest: %v", err)
	}
	var a answer
	if err := json.Unmarshal(line, &a); err != nil {
		g.t.Fatalf("read from the guest: %v", err)
	}
	return a
}

// silent says whether the guest leaves a request unanswered for a while.
func (g *Guest) silent(r request, during time.Duration) bool {
	g.t.Helper()
	g.send(r)
	if err := g.conn.SetReadDeadline(time.Now().Add(during)); err != nil {
		g.t.Fatal(err)
	}
	_, err := g.lines.Peek(1)
	return err != nil && os.IsTimeout(err)
}

// Run runs a program in the machine and gives its output and exit code. The
// first word "self" is the guest's own program.
func (g *Guest) Run(uid uint32, args ...string) (output string, code int) {
	g.t.Helper()
	a := g.ask(request{Op: "run", UID: uid, Args: args})
	if a.Error != "" {
		g.t.Fatalf("run %q: %s", args, a.Error)
	}
	return a.Output, a.Code
}

// Spawn starts a program in the machine and gives its pid there.
func (g *Guest) Spawn(uid uint32, args ...string) int {
	g.t.Helper()
	a := g.ask(request{Op: "spawn", UID: uid, Args: args})
	if a.Error != "" {
		g.t.Fatalf("spawn %q: %s", args, a.Error)
	}
	return a.Pid
}

// alive says whether the machine has a process pid.
func (g *Guest) alive(pid int) bool {
	g.t.Helper()
	return g.ask(request{Op: "alive", Pid: pid}).Error == ""
}

// eventually waits until is says yes.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("waited %v in vain: %s", wait, what)
		}
	}
}
