package e2e

import (
	"fmt"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// TestLaunch is an evening at the chat: everything is seen on the screen.
func TestLaunch(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	p := s.sitDown(80, 24, nil, "launch", "--agent", "demo", "--name", "talk")
	p.sees("Say something to demo")
	p.sees("ready")

	p.types("write notes.txt hi" + enter)
	p.sees("write wants to touch /workspace/notes.txt")
	p.sees("y allow")
	p.types("n")
	p.sees("Why not?")
	p.types("not now" + enter)
	p.sees("rejected: not now")
	p.sees("permission denied")
	p.types("write notes.txt hi" + enter)
	p.allows()
	p.sees("wrote /workspace/notes.txt")
	if out, _, _ := s.cli("exec", "talk", "--", "cat", "notes.txt"); out != "hi\n" {
		t.Errorf("notes.txt is %q", out)
	}

	p.types(tab + enter)
	p.sees("wrote 3 bytes") // what the tool put out
	p.types(enter)
	p.seesNo("wrote 3 bytes")
	p.types(escape)
	p.sees("Enter send")

	// A second prompt waits, Ctrl-C ends the first, the second has its turn.
	p.types("slow 500" + enter)
	p.sees("1 2 3")
	p.types("think hard" + enter)
	p.sees("1 queued")
	p.types(ctrlC)
	p.sees("cancelled after")
	p.sees("I have thought about it.")
	p.seesNo("queued")

	p.types("ask Which colour?" + enter)
	p.sees("Enter answer")
	p.types(enter + "deep blue" + enter)
	p.sees("you answered: deep blue")

	// The server dies in a turn; nothing is lost and nothing comes twice.
	p.types("slow 30" + enter)
	words := func(shown string) string { return strings.Join(strings.Fields(shown), " ") }
	p.seesThat("it counts", func(shown string) bool { return strings.Contains(words(shown), "slow 30 1 2 3 4 5") })
	s.kill()
	p.sees("reconnecting")
	p.types("think while you are away" + enter)
	p.sees("… think while you are away")
	s.restart()
	var numbers []string
	for i := range 30 {
		numbers = append(numbers, fmt.Sprint(i+1))
	}
	p.seesThat("each number stands there once", func(shown string) bool {
		return strings.Contains(words(shown), "slow 30 "+strings.Join(numbers, " ")+" ") &&
			!strings.Contains(shown, "reconnecting")
	})
	p.sees("I have thought about it.")
	p.sees("ready")
	// Waited for, as all else: a screen may be read in the middle of being drawn.
	p.seesThat("what was typed meanwhile was said once", func(shown string) bool {
		return strings.Count(shown, "› think while you are away") == 1
	})

	p.types(ctrlC)
	p.sees("Ctrl-C again leaves; talk lives on")
	p.types(ctrlC)
	p.leaves(0)
	p.sees("talk lives on; come back with 'paddock launch talk'.")

	// Back on a small screen: the last turn, and the past on demand.
	p = s.sitDown(40, 10, nil, "launch", "talk")
	p.sees("I have thought about it.")
	p.seesThat("the first turn is read back", func(shown string) bool {
		p.types(pageUp)
		return strings.Contains(shown, "rejected: not now")
	})
	p.resize(80, 24)
	p.sees("PgDn")
	p.types(escape)
	p.seesNo("PgDn")
	p.types(ctrlD)
	p.leaves(0)
}

// TestLaunchAndTheRest is what others do to a session in the meantime, and what
// an agent would do to the terminal.
func TestLaunchAndTheRest(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.create("agent: demo\nname: talk\npermissions: {default: allow}")

	// Paused, then woken by the first thing said.
	s.cli("pause", "talk")
	p := s.sitDown(80, 24, []string{"NO_COLOR=1"}, "launch", "talk")
	p.sees("paused (manual)")
	p.types(`run printf '\033]0;pwned\007\033]52;c;cHduZWQ=\007\033[2J\033[31mred\033[?1049l\n'; seq 3000` + enter)
	p.sees("\n  3000")
	p.sees("ready")
	p.types("think &#27;]52;c;cHduZWQ=&#7;" + enter)
	p.sees("thought")
	p.types(tab + enter)
	p.sees("I have thought about it.")
	raw := p.raw()
	for what, code := range map[string]string{"a title": "\x1b]0;", "the clipboard": "\x1b]52;", "a screen cleared": "\x1b[2J\x1b[31m"} {
		if strings.Contains(raw, code) {
			t.Errorf("the agent set %s", what)
		}
	}
	if color := regexp.MustCompile(`\x1b\[[0-9;]*\b(3[0-7]|4[0-7]|9[0-7])\b[0-9;]*m`).FindString(raw); color != "" {
		t.Errorf("NO_COLOR, and yet there is %q", color)
	}
	p.types(escape)
	p.sees("Enter send")

	// Asked before anybody looked, and answered elsewhere.
	s.cli("create", "--name", "asks", "--permissions", "ask")
	s.cli("prompt", "asks", "--detach", "run true")
	q := s.sitDown(80, 24, nil, "launch", "asks")
	q.sees("shell wants to run")
	s.cli("approve", "asks")
	q.sees("exit code 0")
	q.seesNo("wants to run")

	// A hangup and a SIGTERM leave the terminal as it was.
	if err := q.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	q.leaves(130)
	q = s.sitDown(80, 24, nil, "launch", "asks")
	q.sees("exit code 0")
	if err := q.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	q.leaves(130)

	// A terminal that knows no codes gets none.
	q = s.sitDown(80, 24, []string{"TERM=dumb"}, "launch", "talk", "hello")
	q.sees("you said \"hello\"")
	q.types("think twice\n")
	q.sees("I have thought about it.")
	q.types(ctrlD)
	q.leaves(0)
	if strings.Contains(q.raw(), "\x1b") {
		t.Errorf("a dumb terminal got codes: %q", q.raw())
	}

	// Removed by somebody else.
	s.cli("remove", "talk")
	p.leaves(1)
	p.sees("session talk was removed")
}
