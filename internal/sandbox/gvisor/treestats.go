package gvisor

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"paddock/internal/sandbox"
)

// clockTick is the unit of CPU times in /proc/<pid>/stat; it is 1/100 s on
// every Linux that Go runs on.
const clockTick = 10 * time.Millisecond

// treeStats reads what the process trees use, where there are no control
// groups to ask: less exact, for processes that ended count only from the time
// that their parents collected them.
func treeStats(roots ...int) (sandbox.Stats, error) {
	var s sandbox.Stats
	var shared int64
	for _, root := range roots {
		for _, pid := range treePids(root) {
			cpu, err := processCPU(pid)
			if err != nil {
				if pid == root {
					return s, err
				}
				continue // it ended
			}
			s.CPU += cpu
			anonymous, sharedHere := processMemory(pid)
			s.Memory += anonymous
			shared = max(shared, sharedHere) // all map the same pages
		}
	}
	s.Memory += shared
	return s, nil
}

// processCPU reads user and system time of a process and its collected
// children.
func processCPU(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, after, ok := strings.Cut(string(text), ") ") // the name may hold anything
	fields := strings.Fields(after)
	const utime, cstime = 11, 14 // counted from the field after the name
	if !ok || len(fields) <= cstime {
		return 0, fmt.Errorf("/proc/%d/stat is malformed", pid)
	}
	var ticks int64
	for _, field := range fields[utime : cstime+1] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("/proc/%d/stat: %w", pid, err)
		}
		ticks += n
	}
	return time.Duration(ticks) * clockTick, nil
}

// processMemory reads a process's own and shared memory in bytes.
func processMemory(pid int) (anonymous, shared int64) {
	path := fmt.Sprintf("/proc/%d/status", pid)
	return kilobytes(path, "RssAnon:"), kilobytes(path, "RssShmem:")
}

func kilobytes(path, field string) int64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(text), "\n"+field)
	words := strings.Fields(after)
	if len(words) == 0 {
		return 0
	}
	n, _ := strconv.ParseInt(words[0], 10, 64)
	return n << 10
}
