package sandboxtest

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Pids are the host's processes of machine id: those that name it in their
// command line. Zombies have none.
func Pids(t *testing.T, id string) []int {
	t.Helper()
	var pids []int
	for _, pid := range allPids(t) {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err == nil && bytes.Contains(line, []byte(id)) && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids
}

// Traces lists what the host has of machine id: processes, mounts in any
// namespace, control groups, and files below folders.
func Traces(t *testing.T, id string, folders ...string) []string {
	t.Helper()
	var traces []string
	for _, pid := range Pids(t, id) {
		traces = append(traces, fmt.Sprintf("process %d", pid))
	}
	mounts := 0 // in all namespaces
	for _, pid := range allPids(t) {
		table, err := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", pid))
		if err != nil {
			continue // it ended
		}
		for line := range strings.Lines(string(table)) {
			if strings.Contains(line, id) {
				mounts++
			}
		}
	}
	if mounts > 0 {
		traces = append(traces, fmt.Sprintf("mounts of %d processes", mounts))
	}
	for _, folder := range append([]string{"/sys/fs/cgroup"}, folders...) {
		err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && strings.Contains(entry.Name(), id) {
				traces = append(traces, path)
			}
			return nil // what goes away while we look is not there
		})
		if err != nil {
			t.Fatalf("look for traces: %v", err)
		}
	}
	return traces
}

// cpuTicks is the CPU time that the host gave to all processes of machine id,
// in hundredths of a second.
func cpuTicks(t *testing.T, id string) (ticks int64) {
	t.Helper()
	for _, pid := range Pids(t, id) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue
		}
		_, after, _ := strings.Cut(string(text), ") ")
		fields := strings.Fields(after)
		for _, field := range fields[11:13] { // user and system time
			n, err := strconv.ParseInt(field, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			ticks += n
		}
	}
	return ticks
}

// zombies are our children that ended and were not collected.
func zombies(t *testing.T) (pids []int) {
	t.Helper()
	for _, pid := range allPids(t) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue
		}
		_, after, _ := strings.Cut(string(text), ") ")
		fields := strings.Fields(after)
		if fields[0] == "Z" && fields[1] == strconv.Itoa(os.Getpid()) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func allPids(t *testing.T) (pids []int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
