package trial

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// tick is the unit of CPU time in /proc/<pid>/stat (USER_HZ, 100 on Linux).
const tick = 10 * time.Millisecond

// Host reads facts from the kernel's file systems.
type Host struct {
	proc    string // /proc
	cgroups string // /sys/fs/cgroup
}

// ThisHost is the host that we run on.
func ThisHost() Host { return Host{proc: "/proc", cgroups: "/sys/fs/cgroup"} }

// Process is what the host knows of one process.
type Process struct {
	pid, parent int
	cpu         time.Duration // user and system time of all its threads
	zombie      bool
}

// Naming lists the living processes whose command line or cgroup contains
// text, and all their descendants: those that a sandbox forks show no command
// line of their own. This process is never listed.
func (h Host) Naming(text string) ([]Process, error) {
	names, err := filepath.Glob(filepath.Join(h.proc, "[0-9]*"))
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	all := map[int]Process{}
	found := map[int]bool{}
	for _, dir := range names {
		p, ok := readProcess(dir)
		if !ok || p.zombie || p.pid == os.Getpid() {
			continue
		}
		all[p.pid] = p
		found[p.pid] = fileNames(filepath.Join(dir, "cmdline"), text) || fileNames(filepath.Join(dir, "cgroup"), text)
	}
	var list []Process
	for pid, p := range all {
		for up := pid; up > 1; up = all[up].parent {
			if found[up] {
				list = append(list, p)
				break
			}
		}
	}
	slices.SortFunc(list, func(a, b Process) int { return a.pid - b.pid })
	return list, nil
}

// readProcess reads /proc/<pid>/stat; false when the process is gone.
func readProcess(dir string) (Process, bool) {
	b, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return Process{}, false
	}
	pid, err := strconv.Atoi(filepath.Base(dir))
	if err != nil {
		return Process{}, false
	}
	// The name, in parentheses, may hold anything; fields count from behind it.
	_, rest, ok := strings.Cut(string(b[bytes.LastIndexByte(b, ')')+1:]), " ")
	f := strings.Fields(rest)
	if !ok || len(f) < 13 {
		return Process{}, false
	}
	parent, _ := strconv.Atoi(f[1])
	user, _ := strconv.ParseInt(f[11], 10, 64)
	system, _ := strconv.ParseInt(f[12], 10, 64)
	return Process{pid: pid, parent: parent, cpu: time.Duration(user+system) * tick, zombie: f[0] == "Z" || f[0] == "X"}, true
}

func fileNames(path, text string) bool {
	b, err := os.ReadFile(path)
	return err == nil && bytes.Contains(b, []byte(text))
}

// CPU sums the CPU time of the processes naming text, in steps of 10 ms.
func (h Host) CPU(text string) (time.Duration, error) {
	list, err := h.Naming(text)
	var sum time.Duration
	for _, p := range list {
		sum += p.cpu
	}
	return sum, err
}

// mounts lists the mount points of this mount namespace that name text, the
// deepest first.
func (h Host) mounts(text string) ([]string, error) {
	b, err := os.ReadFile(filepath.Join(h.proc, "self", "mountinfo"))
	if err != nil {
		return nil, fmt.Errorf("list mounts: %w", err)
	}
	var points []string
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 4 && strings.Contains(line, text) {
			points = append(points, f[4])
		}
	}
	slices.Sort(points)
	slices.Reverse(points)
	return points, nil
}

// groups lists the control groups whose path names text, the deepest first. The
// order of a walk puts parents first.
func (h Host) groups(text string) ([]string, error) {
	var found []string
	err := filepath.WalkDir(h.cgroups, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // gone meanwhile, or a host without control groups
		}
		if err == nil && d.IsDir() && strings.Contains(path, text) {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list control groups: %w", err)
	}
	slices.Reverse(found)
	return found, nil
}

// Left says in one sentence what still names text; empty when nothing does.
func (h Host) Left(text string) (string, error) {
	processes, err := h.Naming(text)
	if err != nil {
		return "", err
	}
	mounts, err := h.mounts(text)
	if err != nil {
		return "", err
	}
	groups, err := h.groups(text)
	if err != nil || len(processes)+len(mounts)+len(groups) == 0 {
		return "", err
	}
	pids := make([]string, len(processes))
	for i, p := range processes {
		pids[i] = strconv.Itoa(p.pid)
	}
	return fmt.Sprintf("left on the host: processes [%s], mounts %v, control groups %v", strings.Join(pids, " "), mounts, groups), nil
}

// Sweep ends by force whatever names text: the last resort of a demo that
// failed, when no server can be asked any more.
func (h Host) Sweep(text string) {
	if list, err := h.Naming(text); err == nil {
		for _, p := range list {
			_ = syscall.Kill(p.pid, syscall.SIGKILL)
		}
	}
	if points, err := h.mounts(text); err == nil {
		for _, point := range points {
			_ = syscall.Unmount(point, syscall.MNT_DETACH)
		}
	}
	if groups, err := h.groups(text); err == nil {
		for _, group := range groups {
			_ = os.Remove(group)
		}
	}
}
