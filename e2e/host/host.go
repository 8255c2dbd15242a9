// Package host looks at this machine from outside of Paddock, so that tests
// assert from the host's own facts and not from what Paddock reports.
package host

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Processes gives the pids whose command line names text, this one excepted.
func Processes(text string) []int {
	var pids []int
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(f)))
		b, err := os.ReadFile(f)
		if err == nil && pid != os.Getpid() && bytes.Contains(b, []byte(text)) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// Tree gives pids and all their descendants.
func Tree(roots ...int) []int {
	var all []int
	for todo := roots; len(todo) > 0; {
		pid := todo[0]
		todo = todo[1:]
		all = append(all, pid)
		tasks, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/children")
		for _, f := range tasks {
			b, _ := os.ReadFile(f)
			for _, c := range strings.Fields(string(b)) {
				if n, err := strconv.Atoi(c); err == nil {
					todo = append(todo, n)
				}
			}
		}
	}
	return all
}

// Ticks gives the CPU time that pids have used, in clock ticks (1/100 s):
// utime and stime of /proc/<pid>/stat, proc(5).
func Ticks(pids ...int) int64 {
	var sum int64
	for _, pid := range pids {
		b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil {
			continue
		}
		_, rest, ok := strings.Cut(string(b), ") ")
		f := strings.Fields(rest)
		if !ok || len(f) < 13 {
			continue
		}
		u, _ := strconv.ParseInt(f[11], 10, 64)
		s, _ := strconv.ParseInt(f[12], 10, 64)
		sum += u + s
	}
	return sum
}

// Held gives how many bytes of disk are used by the open files, named or not,
// whose path holds text, of the processes whose command line names process.
func Held(process, text string) int64 {
	type file struct{ dev, ino uint64 }
	held := map[file]int64{}
	for _, pid := range Processes(process) {
		fds, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/fd/*")
		for _, fd := range fds {
			path, err := os.Readlink(fd)
			if err != nil || !strings.Contains(path, text) {
				continue
			}
			var st syscall.Stat_t
			if syscall.Stat(fd, &st) == nil {
				held[file{st.Dev, st.Ino}] = st.Blocks * 512
			}
		}
	}
	var sum int64
	for _, bytes := range held {
		sum += bytes
	}
	return sum
}

// OOMKills gives how many processes of the cgroups whose path names text the
// kernel has ended for memory.
func OOMKills(text string) int {
	sum := 0
	for _, group := range Cgroups(text) {
		for _, name := range []string{"memory.oom_control", "memory.events"} {
			b, _ := os.ReadFile(filepath.Join(group, name))
			for line := range strings.Lines(string(b)) {
				if f := strings.Fields(line); len(f) == 2 && f[0] == "oom_kill" {
					n, _ := strconv.Atoi(f[1])
					sum += n
				}
			}
		}
	}
	return sum
}

// Mounts gives the lines of this process's mountinfo that name text.
func Mounts(text string) []string {
	b, _ := os.ReadFile("/proc/self/mountinfo")
	var found []string
	for line := range strings.Lines(string(b)) {
		if strings.Contains(line, text) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

// Cgroups gives the cgroups, in every hierarchy, whose path names text.
func Cgroups(text string) []string {
	var found []string
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.Contains(path, text) {
			found = append(found, path)
		}
		return nil
	})
	return found
}

// Names gives the files below dir whose path names text.
func Names(dir, text string) []string {
	var found []string
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && strings.Contains(path, text) {
			found = append(found, path)
		}
		return nil
	})
	return found
}
