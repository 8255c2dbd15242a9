package proc

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Who was stopped by somebody is found, whatever he calls himself.
func TestStopped(t *testing.T) {
	table := NewTable()
	t.Cleanup(table.Close) // after the processes' end
	still, running := start(t, table, nil, "sleep 60"), start(t, table, nil, "sleep 60")
	if stopped(1<<22, nil)[still.Pid] {
		t.Error("a process is held for stopped that runs")
	}
	if err := unix.Kill(still.Pid, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(20 * time.Second)
	for !stopped(1<<22, nil)[still.Pid] {
		if time.Now().After(deadline) {
			t.Fatal("the stopped process is not found")
		}
	}
	if !stopped(0, map[int]bool{still.Pid: true, running.Pid: true})[still.Pid] {
		t.Error("the stopped process is not found where it was known")
	}
	if stopped(1<<22, map[int]bool{running.Pid: true})[running.Pid] {
		t.Error("the other is held for stopped")
	}
	if len(stopped(0, nil)) > 0 {
		t.Error("it looks at more than it may")
	}
	for stat, want := range map[string]bool{"7 (a) T 1": true, "7 (a) S 1": false, "7 (x) T) R 1": false, "7 (x) S) T 1": true, "7": false, "": false} {
		if standsStill([]byte(stat)) != want {
			t.Errorf("%q: %v", stat, !want)
		}
	}
}
