package failpoint

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// childVariable makes the test binary walk by the places instead of testing.
const childVariable = "FAILPOINT_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) == "" {
		os.Exit(m.Run())
	}
	for range 3 {
		Hit("one")
		Hit("two")
		os.Stdout.WriteString("x")
	}
	os.Exit(0)
}

func TestHit(t *testing.T) {
	for _, tc := range []struct {
		value  string
		rounds int
		killed bool
	}{
		{value: "", rounds: 3},
		{value: "three", rounds: 3},
		{value: "one", rounds: 0, killed: true},
		{value: "one:1", rounds: 0, killed: true},
		{value: "two:3", rounds: 2, killed: true},
		{value: "two:4", rounds: 3},
		{value: "two:x", rounds: 0, killed: true},
	} {
		t.Run(tc.value, func(t *testing.T) {
			child := exec.CommandContext(t.Context(), os.Args[0])
			child.Env = append(os.Environ(), childVariable+"=1", Variable+"="+tc.value)
			out, err := child.Output()
			if got := strings.Count(string(out), "x"); got != tc.rounds {
				t.Errorf("came by %d times, want %d", got, tc.rounds)
			}
			var exit *exec.ExitError
			killed := errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
			if killed != tc.killed {
				t.Errorf("killed: %v (%v), want %v", killed, err, tc.killed)
			}
		})
	}
}

func BenchmarkHitUnarmed(b *testing.B) {
	for b.Loop() {
		Hit("anywhere")
	}
}
