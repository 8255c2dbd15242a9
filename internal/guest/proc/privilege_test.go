package proc

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// giveUpWord as the first argument makes this test binary a daemon of root that
// gives up CAP_SYS_ADMIN and prints the capability sets of all its threads, and
// of a process of root and of one of another user that it starts then.
const giveUpWord = "give-up"

func giveUp() {
	die := func(err error) {
		if err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
	}
	table := NewTable()
	defer table.Close()
	err := GiveUp(unix.CAP_SYS_ADMIN)
	if errors.Is(err, unix.ENOTSUP) {
		fmt.Println("threads of C cannot be reached")
		os.Exit(2)
	}
	die(err)
	die(GiveUp(unix.CAP_SYS_ADMIN)) // again
	if holds, err := Holds(unix.CAP_SYS_ADMIN); err != nil || holds {
		die(fmt.Errorf("still held, %v", err))
	}
	if holds, err := Holds(unix.CAP_KILL); err != nil || !holds {
		die(fmt.Errorf("another one is gone, %v", err))
	}
	threads, err := filepath.Glob("/proc/self/task/*/status")
	die(err)
	for _, thread := range threads {
		text, err := os.ReadFile(thread)
		die(err)
		os.Stdout.Write(text)
	}
	for _, uid := range []uint32{0, 1000} {
		p, err := table.Start(Spec{Path: "/bin/cat", Argv: []string{"cat", "/proc/self/status"}, Dir: "/", User: User{UID: uid, GID: uid},
			Files: [3]*os.File{os.Stdin, os.Stdout, os.Stderr}})
		die(err)
		<-p.Done()
	}
}

func TestGiveUp(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	cmd := exec.Command(os.Args[0], giveUpWord)
	out, err := cmd.Output()
	if cmd.ProcessState.ExitCode() == 2 {
		t.Skip(string(out))
	}
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	sets := regexp.MustCompile(`(?m)^Cap(Inh|Prm|Eff|Bnd|Amb):\s+([0-9a-f]+)$`).FindAllStringSubmatch(string(out), -1)
	if len(sets) < 5*4 { // a runtime has at least two threads
		t.Fatalf("%d sets in:\n%s", len(sets), out)
	}
	for _, set := range sets {
		bits, err := strconv.ParseUint(set[2], 16, 64)
		if err != nil || bits&(1<<unix.CAP_SYS_ADMIN) != 0 {
			t.Errorf("a set has it: %s (%v)", strings.Join(set[1:], " "), err)
		}
	}
}
