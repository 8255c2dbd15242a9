package gvisor

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// oomAlarm gives a file that becomes readable when the group's memory is full
// and the host's kernel looks for a victim; nil when there are no groups. A
// reader then asks oomKills.
func (g group) oomAlarm() (*os.File, error) {
	if g.kind() == "" {
		return nil, nil
	}
	path, isV2 := g.file("memory", "memory.oom_control", "memory.events")
	if isV2 {
		return alarmV2(path)
	}
	return alarmV1(path)
}

// alarmV1 registers an eventfd with the group, as v1 has it.
func alarmV1(path string) (*os.File, error) {
	control, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("watch memory: %w", err)
	}
	defer control.Close()
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("watch memory: %w", err)
	}
	alarm := os.NewFile(uintptr(fd), "oom alarm")
	line := fmt.Sprintf("%d %d", fd, control.Fd())
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), "cgroup.event_control"), []byte(line), 0); err != nil {
		alarm.Close()
		return nil, fmt.Errorf("watch memory: %w", err)
	}
	return alarm, nil
}

// alarmV2 watches memory.events, which changes with each kill.
func alarmV2(path string) (*os.File, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("watch memory: %w", err)
	}
	alarm := os.NewFile(uintptr(fd), "oom alarm")
	if _, err := unix.InotifyAddWatch(fd, path, unix.IN_MODIFY); err != nil {
		alarm.Close()
		return nil, fmt.Errorf("watch memory: %w", err)
	}
	return alarm, nil
}
