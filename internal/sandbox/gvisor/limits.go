package gvisor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"paddock/internal/sandbox"
)

const (
	// cpuPeriod is the period of the CPU quota in microseconds.
	cpuPeriod = 100_000

	// kernelMemory is what a machine's kernel and gofer need beside the
	// machine's own memory, in MiB; about 14 were measured for an idle one, and
	// it grows with open files and memory maps.
	kernelMemory = 64
)

// hostMemory is the limit of a machine of memory MiB on the host, in bytes. It
// lies beyond full: whoever watches the machine gets to end what is too much
// before the host's kernel ends what happens to be large, and on a busy host that
// takes most of a second, in which processes fill some hundred MiB. (What the
// kernel ends are stubs, whose memory it does not get back thereby, until the
// machine itself is next.)
func hostMemory(memory int) int64 { return full(memory) + int64(memory/2+512)<<20 }

// full is sandbox.Stats.Full of a machine of memory MiB.
func full(memory int) int64 {
	if memory == 0 {
		return 0
	}
	return int64(memory+kernelMemory) << 20
}

// hostPids is the limit of host threads for a machine of pids processes. A
// process inside is about two threads outside, and a machine that meets this
// limit dies whole: the guest keeps its own, lower limit.
func hostPids(pids int) int { return 4*pids + 256 }

// limit sets the group's limits.
func (g group) limit(size sandbox.Size) error {
	type setting struct {
		path, value string
		optional    bool
	}
	var settings []setting
	set := func(controller, v1name, v1value, v2name, v2value string, optional bool) {
		path, isV2 := g.file(controller, v1name, v2name)
		value := v1value
		if isV2 {
			value = v2value
		}
		settings = append(settings, setting{path, value, optional})
	}
	if size.MemoryMB > 0 {
		limit := strconv.FormatInt(hostMemory(size.MemoryMB), 10)
		set("memory", "memory.limit_in_bytes", limit, "memory.max", limit, false)
		// A machine may not escape into swap. Not every kernel counts it.
		set("memory", "memory.memsw.limit_in_bytes", limit, "memory.swap.max", "0", true)
	}
	if size.Pids > 0 {
		limit := strconv.Itoa(hostPids(size.Pids))
		set("pids", "pids.max", limit, "pids.max", limit, false)
	}
	if size.VCPUs > 0 {
		quota := strconv.Itoa(size.VCPUs * cpuPeriod)
		set("cpu", "cpu.cfs_quota_us", quota, "cpu.max", quota+" "+strconv.Itoa(cpuPeriod), false)
		// A machine starts, and an exec forks, on several CPUs at once: what was
		// not used before may be used then, else it stands still for the rest of
		// the period (up to 60 ms of a start were measured). Since Linux 5.14.
		set("cpu", "cpu.cfs_burst_us", quota, "cpu.max.burst", quota, true)
	}
	for _, s := range settings {
		if err := os.WriteFile(s.path, []byte(s.value), 0); err != nil && !s.optional {
			return fmt.Errorf("set limit %s: %w", filepath.Base(s.path), err)
		}
	}
	return nil
}

// stats reads what the group uses.
func (g group) stats() (sandbox.Stats, error) {
	var s sandbox.Stats
	path, isV2 := g.file("cpuacct", "cpuacct.usage", "cpu.stat")
	if isV2 {
		usec, err := readFields(path, "usage_usec")
		if err != nil {
			return s, err
		}
		s.CPU = time.Duration(usec) * time.Microsecond
	} else {
		nsec, err := readNumber(path)
		if err != nil {
			return s, err
		}
		s.CPU = time.Duration(nsec)
	}

	path, _ = g.file("memory", "memory.usage_in_bytes", "memory.current")
	used, err := readNumber(path)
	if err != nil {
		return s, err
	}
	// Pages of files are the host's to take back; files in memory are none.
	stat, isV2 := g.file("memory", "memory.stat", "memory.stat")
	prefix := "total_"
	if isV2 {
		prefix = ""
	}
	cached, err := readFields(stat, prefix+"inactive_file", prefix+"active_file")
	if err != nil {
		return s, err
	}
	s.Memory = max(used-cached, 0)

	path, _ = g.file("pids", "pids.current", "pids.current")
	pids, err := readNumber(path)
	if err != nil {
		return s, err
	}
	s.Pids = int(pids)
	s.OOMKills, err = g.oomKills()
	return s, err
}

// oomKills counts the group's processes that the host's kernel killed for
// memory.
func (g group) oomKills() (int, error) {
	if g.kind() == "" {
		return 0, nil
	}
	path, _ := g.file("memory", "memory.oom_control", "memory.events")
	n, err := readFields(path, "oom_kill")
	return int(n), err
}

// goneOr tells a group that was removed from one that cannot be read.
func goneOr(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return sandbox.ErrGone
	}
	return fmt.Errorf("read control group: %w", err)
}
