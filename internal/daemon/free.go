package daemon

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"paddock/internal/engine"
	"paddock/internal/metrics"
)

// freeRoom reads how much memory this host can give away, and how much of the
// disk that a folder is on.
func freeRoom(folder string) (engine.Room, error) {
	meminfo, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return engine.Room{}, fmt.Errorf("read free memory: %w", err)
	}
	memory, err := availableMemory(meminfo)
	if err != nil {
		return engine.Room{}, fmt.Errorf("read free memory: %w", err)
	}
	var disk unix.Statfs_t
	if err := unix.Statfs(folder, &disk); err != nil {
		return engine.Room{}, fmt.Errorf("read free disk: %w", err)
	}
	return engine.Room{Memory: memory, Disk: int64(disk.Bavail) * disk.Bsize}, nil
}

// readHost reads what the host has, and has free; what cannot be read is 0.
func readHost(folder string) (h metrics.Host) {
	if meminfo, err := os.ReadFile("/proc/meminfo"); err == nil {
		h.Memory, _ = memoryLine(meminfo, "MemTotal:")
		h.MemoryFree, _ = availableMemory(meminfo)
	}
	var disk unix.Statfs_t
	if err := unix.Statfs(folder, &disk); err == nil {
		h.Disk, h.DiskFree = int64(disk.Blocks)*disk.Bsize, int64(disk.Bavail)*disk.Bsize
	}
	return h
}

// availableMemory finds MemAvailable, in bytes, in the text of /proc/meminfo.
func availableMemory(meminfo []byte) (int64, error) { return memoryLine(meminfo, "MemAvailable:") }

func memoryLine(meminfo []byte, name string) (int64, error) {
	lines := bufio.NewScanner(bytes.NewReader(meminfo))
	for lines.Scan() {
		text, ok := strings.CutPrefix(lines.Text(), name)
		if !ok {
			continue
		}
		kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(text, "kB")), 10, 64)
		return kib << 10, err
	}
	return 0, fmt.Errorf("/proc/meminfo has no %s", strings.TrimSuffix(name, ":"))
}
