package e2e

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// seat is a person in front of a whole terminal: what the program draws is
// emulated, and what is looked at is the screen.
type seat struct {
	t      *testing.T
	tty    *os.File // the program's end of the terminal
	person *os.File // ours
	before *unix.Termios
	cmd    *exec.Cmd
	ended  chan struct{}

	mu     sync.Mutex
	screen *vt.Emulator
	drawn  bytes.Buffer // every byte that came
}

// sitDown runs a command line at a terminal of a size. The environment is added
// to ours.
func (s *server) sitDown(width, height int, env []string, args ...string) *seat {
	s.t.Helper()
	person, tty, err := pty.Open()
	if err != nil {
		s.t.Fatal(err)
	}
	p := &seat{t: s.t, person: person, tty: tty, screen: vt.NewEmulator(width, height), ended: make(chan struct{})}
	p.resize(width, height)
	p.before = p.modes()
	p.cmd = exec.Command(program, args...)
	p.cmd.Env = append(append(os.Environ(), "PADDOCK_URL=http://"+s.addr, "PADDOCK_TOKEN="+token, "TERM=xterm-256color", "NO_COLOR="), env...)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = tty, tty, tty
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := p.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	var work sync.WaitGroup
	work.Go(p.look)
	work.Go(func() { _, _ = io.Copy(person, p.screen) }) // the terminal's own answers
	go func() {
		_ = p.cmd.Wait()
		close(p.ended)
	}()
	s.t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.ended
		tty.Close()
		person.Close()
		p.mu.Lock()
		p.screen.Close()
		p.mu.Unlock()
		work.Wait()
	})
	return p
}

// look draws what the program puts out.
func (p *seat) look() {
	buf := make([]byte, 64<<10)
	for {
		n, err := p.person.Read(buf)
		p.mu.Lock()
		p.drawn.Write(buf[:n])
		_, _ = p.screen.Write(buf[:n])
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (p *seat) modes() *unix.Termios {
	p.t.Helper()
	modes, err := unix.IoctlGetTermios(int(p.tty.Fd()), unix.TCGETS)
	if err != nil {
		p.t.Fatal(err)
	}
	return modes
}

func (p *seat) resize(width, height int) {
	p.t.Helper()
	if err := pty.Setsize(p.person, &pty.Winsize{Cols: uint16(width), Rows: uint16(height)}); err != nil {
		p.t.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.screen.Resize(width, height)
}

// shown is what stands on the screen.
func (p *seat) shown() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.screen.String()
}

// raw is all that the program ever put out.
func (p *seat) raw() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.drawn.String()
}

func (p *seat) sees(text string) {
	p.t.Helper()
	p.seesThat("it shows "+text, func(shown string) bool { return strings.Contains(shown, text) })
}

func (p *seat) seesNo(text string) {
	p.t.Helper()
	p.seesThat("it no longer shows "+text, func(shown string) bool { return !strings.Contains(shown, text) })
}

func (p *seat) seesThat(what string, cond func(shown string) bool) {
	p.t.Helper()
	defer func() {
		if p.t.Failed() {
			p.t.Logf("the screen:\n%s", p.shown())
		}
	}()
	eventually(p.t, what, func() bool { return cond(p.shown()) })
}

func (p *seat) types(text string) {
	p.t.Helper()
	if _, err := p.person.WriteString(text); err != nil {
		p.t.Fatal(err)
	}
}

// allows answers a question with yes. A question that has just come takes no
// yes yet, so it may take more than one.
func (p *seat) allows() {
	p.t.Helper()
	p.sees("y allow")
	var last time.Time
	p.seesThat("the question is answered", func(shown string) bool {
		asks := strings.Contains(shown, "y allow")
		if asks && time.Since(last) > time.Second {
			p.types("y")
			last = time.Now()
		}
		return !asks
	})
}

// Keys as terminals send them.
const (
	enter  = "\r"
	tab    = "\t"
	escape = "\x1b"
	ctrlC  = "\x03"
	ctrlD  = "\x04"
	pageUp = "\x1b[5~"
)

// leaves waits for the end and checks that the terminal is as it was.
func (p *seat) leaves(code int) {
	p.t.Helper()
	p.seesThat("the program ends", func(string) bool {
		select {
		case <-p.ended:
			return true
		default:
			return false
		}
	})
	if got := p.cmd.ProcessState.ExitCode(); got != code {
		p.t.Errorf("it exits with %d, want %d; the screen:\n%s", got, code, p.shown())
	}
	if after := p.modes(); *after != *p.before {
		p.t.Errorf("the terminal's modes were %+v and are %+v", *p.before, *after)
	}
	p.seesThat("the alternate screen is left", func(string) bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return !p.screen.IsAltScreen()
	})
	// To the emulator each screen has a cursor of its own; terminals have one.
	if raw := p.raw(); strings.LastIndex(raw, "\x1b[?25l") > strings.LastIndex(raw, "\x1b[?25h") {
		p.t.Error("the cursor stays hidden")
	}
}
