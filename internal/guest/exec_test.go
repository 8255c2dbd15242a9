package guest_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"paddock/internal/fault"
	"paddock/internal/guestapi"
	"paddock/internal/id"
)

func TestExecOutputAndCode(t *testing.T) {
	m := newMachine(t)
	for script, want := range map[string]struct {
		out, err string
		code     int
	}{
		"echo hi; echo no >&2; exit 3": {"hi\n", "no\n", 3},
		"printf '\\377\\000x'":         {"\xff\x00x", "", 0},
		"kill -9 $$":                   {"", "", 137},
		"pwd; echo $PWD":               {m.workspace + "\n" + m.workspace + "\n", "", 0},
		"cat":                          {"", "", 0},
		"echo $USER $HOME; env | grep -c PADDOCK": {"agent " + filepath.Dir(m.workspace) + "\n0\n", "", 1},
	} {
		out, stderr, exit := m.exec(script)
		if out != want.out || stderr != want.err || exit.Code != want.code || exit.TimedOut || exit.Detached {
			t.Errorf("%s: %q %q %+v", script, out, stderr, exit)
		}
	}
}

func TestExecStdinAndEnv(t *testing.T) {
	m := newMachine(t)
	in := []byte(strings.Repeat("stdin\x00\xff", 100_000))
	out, _, _ := m.run(guestapi.ExecRequest{Argv: []string{"cat"}, Stdin: in, Timeout: patience})
	if out != string(in) {
		t.Errorf("cat gave %d bytes of %d", len(out), len(in))
	}
	out, _, exit := m.run(guestapi.ExecRequest{Argv: []string{"true"}, Stdin: in, Timeout: patience}) // reads none of it
	if out != "" || exit.Code != 0 {
		t.Errorf("true: %q %+v", out, exit)
	}
	out, _, _ = m.run(guestapi.ExecRequest{Argv: []string{"sh", "-c", "echo $A $PATH"}, Env: map[string]string{"A": "b", "PATH": "/bin"}, Timeout: patience})
	if out != "b /bin\n" {
		t.Errorf("env: %q", out)
	}
}

func TestExecRefused(t *testing.T) {
	m := newMachine(t)
	for name, c := range map[string]struct {
		request guestapi.ExecRequest
		words   []string
	}{
		"no argv":      {guestapi.ExecRequest{}, []string{"no command"}},
		"no program":   {guestapi.ExecRequest{Argv: []string{"nosuch"}}, []string{`"nosuch"`, "PATH", "/usr/bin"}},
		"no path":      {guestapi.ExecRequest{Argv: []string{"./nosuch"}}, []string{m.workspace + "/nosuch"}},
		"no folder":    {guestapi.ExecRequest{Argv: []string{"true"}, Dir: "gone"}, []string{m.workspace + "/gone", "does not exist"}},
		"folder":       {guestapi.ExecRequest{Argv: []string{"true"}, Dir: "/etc/passwd"}, []string{"/etc/passwd"}},
		"unknown user": {guestapi.ExecRequest{Argv: []string{"true"}, User: "nobody"}, []string{"nobody"}},
		"not a binary": {guestapi.ExecRequest{Argv: []string{"/bin/sh"}, Dir: "/proc/1/nosuch"}, []string{"does not exist"}},
	} {
		c.request.Timeout = patience
		key := id.New[id.Exec]()
		_, err := m.guest().StartExec(m.ctx(), key, c.request, patience)
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != fault.BadRequest {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, w := range c.words {
			if !strings.Contains(f.Message, w) {
				t.Errorf("%s: %q does not say %q", name, f.Message, w)
			}
		}
		if _, err := m.guest().PollExec(m.ctx(), key, 0, 0, 0); !fault.Is(err, fault.NotFound) {
			t.Errorf("%s: poll: %v", name, err)
		}
	}
	if _, err := m.guest().StartExec(m.ctx(), id.New[id.Exec](), guestapi.ExecRequest{Argv: []string{"true"}}, 0); !fault.Is(err, fault.BadRequest) {
		t.Errorf("no time-out: %v", err)
	}
}

func TestExecTimeout(t *testing.T) {
	m := newMachine(t)
	start := time.Now()
	out, _, exit := m.run(guestapi.ExecRequest{Argv: []string{"sh", "-c", "echo a; sleep 1000 & sleep 1000"}, Timeout: 100 * time.Millisecond})
	if out != "a\n" || !exit.TimedOut || exit.Code != 137 || exit.Detached || time.Since(start) > patience/2 {
		t.Errorf("%q %+v", out, exit)
	}
}

func TestExecDetached(t *testing.T) {
	m := newMachine(t)
	fifo := filepath.Join(m.workspace, "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	// The child writes after the exec is over: it must be able to, and live.
	out, _, exit := m.exec(`(trap '' HUP; cat fifo; echo late; echo alive > proof) & echo started`)
	if out != "started\n" || !exit.Detached || exit.Code != 0 {
		t.Fatalf("%q %+v", out, exit)
	}
	if err := os.WriteFile(fifo, nil, 0); err != nil {
		t.Fatal(err)
	}
	out, _, _ = m.exec("until [ -s proof ]; do sleep 0.01; done; cat proof")
	if out != "alive\n" {
		t.Errorf("proof %q", out)
	}
}

// A process that ends with its output unread loses none of it, also when a
// child holds the pipe: what it wrote itself counts, however slow the reader.
func TestExecBackPressure(t *testing.T) {
	m := newMachine(t)
	const n = 3 << 20
	key := id.New[id.Exec]()
	script := fmt.Sprintf("head -c %d /dev/zero; head -c %d /dev/zero >&2; sleep 1000 & echo end", n, n)
	p, err := m.guest().StartExec(m.ctx(), key, guestapi.ExecRequest{Argv: []string{"sh", "-c", script}, Timeout: patience}, patience)
	if err != nil || p.Exit != nil || len(p.Stdout) != guestapi.ExecWindow {
		t.Fatalf("%d bytes, exit %v, %v", len(p.Stdout), p.Exit, err)
	}
	var out, errs int64
	var tail string
	for {
		out += int64(len(p.Stdout))
		errs += int64(len(p.Stderr))
		tail = (tail + string(p.Stdout))[max(0, len(tail)+len(p.Stdout)-4):]
		if p.Done() {
			break
		}
		if p, err = m.guest().PollExec(m.ctx(), key, out, errs, patience); err != nil {
			t.Fatal(err)
		}
	}
	if out != n+4 || errs != n || tail != "end\n" || !p.Exit.Detached {
		t.Errorf("%d and %d bytes, %q, %+v", out, errs, tail, p.Exit)
	}
	if _, err := m.guest().PollExec(m.ctx(), key, 0, 0, 0); !fault.Is(err, fault.BadRequest) {
		t.Errorf("what was let go is given again: %v", err)
	}
}

func TestExecIsIdempotent(t *testing.T) {
	m := newMachine(t)
	key := id.New[id.Exec]()
	request := guestapi.ExecRequest{Argv: []string{"sh", "-c", "echo x >> count; cat count"}, Timeout: patience}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			p, err := m.guest().StartExec(m.ctx(), key, request, patience)
			if err != nil || string(p.Stdout) != "x\n" || !p.Done() {
				t.Errorf("%+v %v", p, err)
			}
		})
	}
	wg.Wait()
	if err := m.guest().EndExec(m.ctx(), key); err != nil {
		t.Fatal(err)
	}
	if err := m.guest().EndExec(m.ctx(), key); err != nil {
		t.Errorf("ended again: %v", err)
	}
}

func TestEndExecKills(t *testing.T) {
	m := newMachine(t)
	key := id.New[id.Exec]()
	request := guestapi.ExecRequest{Argv: []string{"sh", "-c", "echo $$; exec sleep 1000"}, Timeout: time.Hour}
	p, err := m.guest().StartExec(m.ctx(), key, request, 0)
	for err == nil && len(p.Stdout) == 0 {
		p, err = m.guest().PollExec(m.ctx(), key, 0, 0, patience)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := m.guest().EndExec(m.ctx(), key); err != nil {
		t.Fatal(err)
	}
	out, _, _ := m.exec("while kill -0 " + strings.TrimSpace(string(p.Stdout)) + " 2>/dev/null; do sleep 0.01; done; echo gone")
	if out != "gone\n" {
		t.Errorf("%q", out)
	}
}

func TestExecSurvivesReconnect(t *testing.T) {
	m := newMachine(t)
	key := id.New[id.Exec]()
	first := m.guest()
	if _, err := first.StartExec(m.ctx(), key, guestapi.ExecRequest{Argv: []string{"sh", "-c", "read x; echo hello"}, Stdin: []byte("go\n"), Timeout: patience}, 0); err != nil {
		t.Fatal(err)
	}
	first.Close()
	m.await("another connection", func() bool { return m.link != first })
	p, err := m.guest().PollExec(m.ctx(), key, 0, 0, patience)
	for err == nil && !p.Done() {
		p, err = m.guest().PollExec(m.ctx(), key, 0, 0, patience)
	}
	if err != nil || string(p.Stdout) != "hello\n" {
		t.Errorf("%q %v", p.Stdout, err)
	}
}

func TestExecAsRoot(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root becomes root")
	}
	m := newMachine(t)
	out, _, _ := m.run(guestapi.ExecRequest{Argv: []string{"sh", "-c", "id -u; echo $HOME"}, User: "root", Timeout: patience})
	if out != "0\n/root\n" {
		t.Errorf("%q", out)
	}
}
