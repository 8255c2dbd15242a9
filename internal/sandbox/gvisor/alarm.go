package gvisor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

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
	alarm, err := newAlarm()
	if err != nil {
		return nil, err
	}
	if err := g.ring(alarm, "memory.oom_control", ""); err != nil {
		alarm.Close()
		return nil, err
	}
	return alarm, nil
}

// pressAlarm gives a file for ringWhenPressed; nil where the kernel cannot ring
// it, which is everywhere but in v1 groups.
func (g group) pressAlarm() (*os.File, error) {
	if g.kind() == "" || g.v1["memory"] == "" {
		return nil, nil
	}
	return newAlarm()
}

// ringWhenPressed makes the alarm readable each time the group's use of memory
// passes three quarters of full, or full, in either direction; and, for pages of
// files count as used until the kernel needs them, whenever the kernel takes
// pages back because the group has reached its limit. Whatever comes to use that
// much sets it off. The kernel may take milliseconds to grant it.
func (g group) ringWhenPressed(alarm *os.File, full int64) error {
	return errors.Join(
		g.ring(alarm, "memory.pressure_level", "low"),
		g.ring(alarm, "memory.usage_in_bytes", strconv.FormatInt(full/4*3, 10)),
		g.ring(alarm, "memory.usage_in_bytes", strconv.FormatInt(full, 10)),
	)
}

// newAlarm makes a file that a v1 group can ring.
func newAlarm() (*os.File, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("watch memory: %w", err)
	}
	return os.NewFile(uintptr(fd), "memory alarm"), nil
}

// ring has the alarm rung by a control file of the v1 group; argument says when.
func (g group) ring(alarm *os.File, file, argument string) error {
	folder := g.at(g.v1["memory"])
	control, err := os.Open(filepath.Join(folder, file))
	if err != nil {
		return fmt.Errorf("watch memory: %w", err)
	}
	defer control.Close()
	conn, err := alarm.SyscallConn()
	if err != nil {
		return fmt.Errorf("watch memory: %w", err)
	}
	if e := conn.Control(func(fd uintptr) { // it stays open meanwhile
		line := fmt.Sprintf("%d %d %s", fd, control.Fd(), argument)
		err = os.WriteFile(filepath.Join(folder, "cgroup.event_control"), []byte(line), 0)
	}); e != nil {
		err = e
	}
	if err != nil {
		return fmt.Errorf("watch %s: %w", file, err)
	}
	return nil
}

// alarmV2 watches memory.events, which changes with each kill.
func alarmV2(path string) (*os.File, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("watch memory: %w", err)
	}
	alarm := os.NewFile(uintptr(fd), "memory alarm")
	if _, err := unix.InotifyAddWatch(fd, path, unix.IN_MODIFY); err != nil {
		alarm.Close()
		return nil, fmt.Errorf("watch memory: %w", err)
	}
	return alarm, nil
}
