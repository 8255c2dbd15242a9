package e2e

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/digitalocean/godo"
)

// terminal is a command line that a person runs.
type terminal struct {
	t    *testing.T
	file *os.File
	seen *bufio.Reader
	cmd  *exec.Cmd
}

func (s *server) atTerminal(args ...string) *terminal {
	s.t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), "PADDOCK_URL=http://"+s.addr, "PADDOCK_TOKEN="+token, "TERM=xterm")
	file, err := pty.Start(cmd)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		file.Close()
	})
	return &terminal{t: s.t, file: file, seen: bufio.NewReader(file), cmd: cmd}
}

// until reads the screen on to a text and gives what came before its end.
func (p *terminal) until(text string) string {
	p.t.Helper()
	var b strings.Builder
	defer time.AfterFunc(patience, func() { _ = p.cmd.Process.Kill() }).Stop() // which ends the reading, too
	for !strings.HasSuffix(b.String(), text) {
		c, err := p.seen.ReadByte()
		if err != nil {
			p.t.Fatalf("the screen shows %q and no %q: %v", b.String(), text, err)
		}
		b.WriteByte(c)
	}
	return b.String()
}

func (p *terminal) types(text string) {
	p.t.Helper()
	if _, err := p.file.WriteString(text); err != nil {
		p.t.Fatal(err)
	}
}

// ends reads the screen to the end and checks the exit code.
func (p *terminal) ends(code int) string {
	p.t.Helper()
	var b strings.Builder
	for {
		c, err := p.seen.ReadByte()
		if err != nil {
			break // a terminal that nobody holds open any more is an error to read
		}
		b.WriteByte(c)
	}
	err := p.cmd.Wait()
	var exit *exec.ExitError
	switch {
	case err == nil && code == 0:
	case errors.As(err, &exit) && exit.ExitCode() == code:
	default:
		p.t.Errorf("the command ended with %v, want exit code %d; the screen shows %q", err, code, b.String())
	}
	return b.String()
}

// TestPersonAtTheTerminal is asked, answers, and interrupts.
func TestPersonAtTheTerminal(t *testing.T) {
	s := startServer(t)
	id := s.create("agent: demo\nname: hello").SessionID

	p := s.atTerminal("prompt", "hello", "write notes.txt hello from the sandbox")
	p.until("[a]pprove, for the [s]ession, [r]eject, [d]efer? ")
	p.types("a\n")
	if screen := p.ends(0); !strings.Contains(screen, "wrote /workspace/notes.txt") {
		t.Errorf("the screen shows %q", screen)
	}

	p = s.atTerminal("prompt", "hello", "ask which colour?")
	p.until("answer: ")
	p.types("green\n")
	if screen := p.ends(0); !strings.Contains(screen, "you answered: green") {
		t.Errorf("the screen shows %q", screen)
	}

	// Ctrl-C cancels a run that works, and one that waits for the person.
	p = s.atTerminal("prompt", "hello", "slow 500")
	p.until("3 ")
	p.types("\x03")
	if screen := p.ends(130); !strings.Contains(screen, "the run was cancelled") {
		t.Errorf("the screen shows %q", screen)
	}
	p = s.atTerminal("prompt", "hello", "run touch forbidden")
	p.until("[d]efer? ")
	p.types("\x03")
	p.ends(130)
	if got := s.get(id); got.Status != godo.HostedAgentSessionStatusReady {
		t.Errorf("the session is %s", got.Status)
	}

	// Watching leaves the run alone.
	run := s.send(id, "slow 10")
	p = s.atTerminal("run", "watch", "hello", run)
	p.until("2 ")
	p.types("\x03")
	if screen := p.ends(130); !strings.Contains(screen, "The run goes on") {
		t.Errorf("the screen shows %q", screen)
	}
	if e := s.waitRun(id, run); e.Kind != godo.HostedAgentEventKindRunCompleted {
		t.Errorf("the watched run ended with %s", e.Kind)
	}

	// What is piped is plain.
	out, errs, code := s.cli("prompt", "hello", "--on-ask", "approve", "think hard")
	if code != 0 || strings.Contains(out+errs, "\x1b") || strings.Contains(out, "hard") {
		t.Errorf("piped: code %d, %q, %q", code, out, errs)
	}
}

// TestNobodyButRoot runs the program as somebody who may not make sandboxes.
func TestNobodyButRoot(t *testing.T) {
	home, err := os.MkdirTemp("", "paddock-e2e-nobody-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(home)
	if err := os.Chmod(home, 0o755); err != nil {
		t.Fatal(err)
	}
	copied := home + "/paddock"
	if out, err := exec.Command("cp", program, copied).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	for _, args := range [][]string{{"serve", "--data-dir", home + "/data"}, {"demo"}} {
		cmd := exec.Command(copied, args...)
		cmd.Dir = "/"
		cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(string(out), "needs root") || strings.Count(string(out), "\n") != 1 {
			t.Errorf("%v: %v, %q", args, err, out)
		}
	}
}
