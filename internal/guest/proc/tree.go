package proc

import (
	"bytes"
	"context"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Task identifies a process for as long as the machine lives: a pid alone may
// be used again.
type Task struct {
	Pid   int
	Start uint64 // clock ticks since boot, /proc/PID/stat
}

// Scan lists the running processes (no zombies) that have group among their
// supplementary groups. Groups are inherited by every descendant, whether it
// left its session, lost its parent or emptied its environment, and only
// CAP_SETGID can drop them: so this is the tree of whatever was started with
// the group, and nobody can sneak out of it.
func Scan(group uint32) []Task {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	want := strconv.FormatUint(uint64(group), 10)
	var tasks []Task
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		status, err := os.ReadFile("/proc/" + e.Name() + "/status")
		if err != nil || !inGroup(status, want) {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue
		}
		if start, ok := startTime(stat); ok {
			tasks = append(tasks, Task{pid, start})
		}
	}
	return tasks
}

// inGroup reads /proc/PID/status: a process that is no zombie and has the group.
func inGroup(status []byte, group string) bool {
	alive, member := true, false
	for line := range bytes.Lines(status) {
		switch fields := bytes.Fields(line); {
		case len(fields) < 2:
		case string(fields[0]) == "State:":
			alive = fields[1][0] != 'Z' && fields[1][0] != 'X'
		case string(fields[0]) == "Groups:":
			for _, g := range fields[1:] {
				member = member || string(g) == group
			}
		}
	}
	return alive && member
}

// startTime reads field 22 of /proc/PID/stat. Field 2, the name, is in
// parentheses and may hold anything, so the count starts after the last one.
func startTime(stat []byte) (uint64, bool) {
	i := bytes.LastIndexByte(stat, ')')
	if i < 0 {
		return 0, false
	}
	fields := bytes.Fields(stat[i+1:]) // fields[0] is field 3
	if len(fields) < 20 {
		return 0, false
	}
	n, err := strconv.ParseUint(string(fields[19]), 10, 64)
	return n, err == nil
}

// KillTree ends every process of the group's tree but those in spare, and
// returns when none of them is left or ctx is over. Processes are stopped
// before any is killed, so that one which forks in a loop cannot outrun it.
func KillTree(ctx context.Context, group uint32, spare []Task) {
	spared := make(map[Task]bool, len(spare))
	for _, t := range spare {
		spared[t] = true
	}
	stopped := map[Task]bool{}
	for fresh := true; fresh && ctx.Err() == nil; {
		fresh = false
		for _, t := range Scan(group) {
			if !spared[t] && !stopped[t] {
				stopped[t], fresh = true, true
				_ = unix.Kill(t.Pid, unix.SIGSTOP) // gone already is as good
			}
		}
	}
	for {
		left := false
		for _, t := range Scan(group) {
			if !spared[t] {
				left = true
				_ = unix.Kill(t.Pid, unix.SIGKILL)
			}
		}
		if !left {
			return
		}
		select {
		case <-time.After(2 * time.Millisecond):
		case <-ctx.Done():
			return
		}
	}
}
