package cli

import (
	"bufio"
	"errors"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// interruptee is a command line that a test interrupts, as a process of its own.
type interruptee struct {
	t           *testing.T
	cmd         *exec.Cmd
	said        *bufio.Reader // both of its streams
	stdin, held *os.File      // the ends of its input, which stays open
}

func startInterruptee(t *testing.T, args ...string) *interruptee {
	t.Helper()
	server := httptest.NewServer(newPlayedAPI())
	cmd := exec.Command("paddock", args...)
	cmd.Env = append(os.Environ(), "PADDOCK_URL="+server.URL, "PADDOCK_TOKEN=secret")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stdin, held, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, w, w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	late := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() }) // its output ends then
	t.Cleanup(func() {
		late.Stop()
		_ = cmd.Process.Kill()
		r.Close()
		stdin.Close()
		held.Close()
		server.CloseClientConnections()
		server.Close()
	})
	return &interruptee{t: t, cmd: cmd, said: bufio.NewReader(r), stdin: stdin, held: held}
}

// until reads on to a text.
func (i *interruptee) until(text string) {
	i.t.Helper()
	var got strings.Builder
	for !strings.HasSuffix(got.String(), text) {
		b, err := i.said.ReadByte()
		if err != nil {
			i.t.Fatalf("it said %q and no %q: %v", got.String(), text, err)
		}
		got.WriteByte(b)
	}
}

func (i *interruptee) interrupt() {
	i.t.Helper()
	if err := i.cmd.Process.Signal(syscall.SIGINT); err != nil {
		i.t.Fatal(err)
	}
}

// ends checks the exit code and gives what was said last.
func (i *interruptee) ends(code int) string {
	i.t.Helper()
	rest, err := io.ReadAll(i.said)
	if err != nil {
		i.t.Fatal(err)
	}
	err = i.cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != code {
		i.t.Errorf("it ended with %v, want exit code %d; it said %q", err, code, rest)
	}
	return string(rest)
}

func TestInterruptCancelsTheRun(t *testing.T) {
	i := startInterruptee(t, "prompt", "hello", "work")
	i.until("working ")
	i.interrupt()
	i.until("Cancelling the run …\n")
	if said := i.ends(exitInterrupted); !strings.Contains(said, "the run was cancelled: cancelled by Ann") {
		t.Errorf("it said %q", said)
	}
}

func TestSecondInterruptLeaves(t *testing.T) {
	i := startInterruptee(t, "prompt", "hello", "hang")
	i.until("working ")
	i.interrupt()
	i.until("Cancelling the run …\n")
	i.interrupt()
	i.ends(exitInterrupted)
}

func TestInterruptWhileReading(t *testing.T) {
	for _, args := range [][]string{{"prompt", "hello", "-"}, {"create", "-f", "-"}} {
		i := startInterruptee(t, args...)
		i.feed()
		i.interrupt()
		i.ends(exitInterrupted)
	}
}

// TestThirdInterruptEndsAServer: the first asks it to end in order, the second
// says that it does.
func TestThirdInterruptEndsAServer(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("serve needs root")
	}
	i := startInterruptee(t, "serve", "--data-dir", t.TempDir()+"/stuck")
	i.until("serving\n")
	i.interrupt()
	i.until("ending\n")
	i.interrupt()
	i.until("one more interrupt ends it at once\n")
	i.interrupt()
	i.ends(exitInterrupted)
}

// feed gives it some input and waits until it has been read.
func (i *interruptee) feed() {
	i.t.Helper()
	if _, err := i.held.WriteString("begun"); err != nil {
		i.t.Fatal(err)
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	deadline := time.Now().Add(time.Minute)
	for range tick.C {
		switch n, err := unix.IoctlGetInt(int(i.stdin.Fd()), unix.TIOCINQ); {
		case err != nil:
			i.t.Fatal(err)
		case n == 0:
			return
		case time.Now().After(deadline):
			i.t.Fatal("it does not read its input")
		}
	}
}
