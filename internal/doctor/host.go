package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// oldest is the oldest kernel we start on: pidfd_open came with 5.3, openat2
// with 5.6.
var oldest = [2]int{5, 6}

func (d *doctor) kernel(context.Context) Check {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return failed("", "the kernel does not say what it is: %v", err)
	}
	release := unix.ByteSliceToString(u.Release[:])
	if v, known := version(release); known && (v[0] < oldest[0] || v[0] == oldest[0] && v[1] < oldest[1]) {
		return failed(fmt.Sprintf("use a host with Linux %d.%d or newer", oldest[0], oldest[1]), "Linux %s is too old", release)
	}
	return ok("Linux %s, %s, %d CPUs", release, runtime.GOARCH, runtime.NumCPU())
}

// version reads the first two numbers of a kernel's release.
func version(release string) (v [2]int, known bool) {
	parts := strings.SplitN(release, ".", 3)
	if len(parts) < 2 {
		return v, false
	}
	for i := range v {
		digits := parts[i]
		if end := strings.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
			digits = digits[:end]
		}
		n, err := strconv.Atoi(digits)
		if err != nil {
			return [2]int{}, false
		}
		v[i] = n
	}
	return v, true
}

// needed are the powers that making a sandbox takes, by their numbers in
// linux/capability.h.
var needed = map[string]int{
	"CHOWN": 0, "DAC_OVERRIDE": 1, "KILL": 5, "SETGID": 6, "SETUID": 7, "NET_ADMIN": 12, "SYS_CHROOT": 18, "SYS_PTRACE": 19, "SYS_ADMIN": 21,
}

func (d *doctor) root(context.Context) Check {
	if !d.Root {
		fix := "run 'paddock serve' and this as root: sudo paddock doctor"
		if d.served {
			return warning(fix, "you are not root, so no server can be started by you; one runs already")
		}
		return failed(fix, "you are not root, so no server can be started by you")
	}
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return failed("mount /proc", "%v", err)
	}
	lacking := lacks(string(b))
	if len(lacking) > 0 {
		return failed("give them to the container or unit that this runs in", "root lacks the capabilities %s here", strings.Join(lacking, ", "))
	}
	return ok("with all capabilities that a sandbox takes")
}

// lacks lists the needed capabilities that /proc/self/status does not show.
func lacks(status string) (names []string) {
	_, rest, _ := strings.Cut(status, "CapEff:")
	text, _, _ := strings.Cut(rest, "\n")
	set, err := strconv.ParseUint(strings.TrimSpace(text), 16, 64)
	if err != nil {
		return nil
	}
	for name, bit := range needed {
		if set>>bit&1 == 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// namespaces makes those that a sandbox is put into.
func (d *doctor) namespaces(ctx context.Context) Check {
	if !d.Root {
		return skipped("needs root")
	}
	cmd := exec.CommandContext(ctx, d.Exe, "exit-codes")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS,
	}
	if err := cmd.Run(); err != nil {
		return failed("allow them: not in a container without --privileged; see /proc/sys/user/max_*_namespaces", "new mount, pid, network, ipc and uts namespaces: %v", err)
	}
	return ok("mount, pid, network, ipc and uts can be made")
}

// cgroups says which controllers there are; whether limits are in force shows
// the sandbox.
func (d *doctor) cgroups(context.Context) Check {
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return failed("mount /proc", "%v", err)
	}
	kind, controllers := hierarchies(string(b))
	if kind == "hybrid" || kind == "v2" {
		if b, err := os.ReadFile("/sys/fs/cgroup/cgroup.controllers"); err == nil {
			controllers = append(controllers, strings.Fields(string(b))...)
		}
	}
	slices.Sort(controllers)
	controllers = slices.Compact(controllers)
	const fix = "mount them (systemd does), with the controllers cpu, memory and pids"
	if kind == "" {
		return warning(fix, "no cgroups are mounted: limits of CPU and memory will not be in force")
	}
	for _, name := range []string{"cpu", "memory", "pids"} {
		if !slices.Contains(controllers, name) {
			return warning(fix, "cgroup %s without the controller %s: its limits will not be in force", kind, name)
		}
	}
	return ok("%s with %s", kind, strings.Join(controllers, ", "))
}

// hierarchies reads mountinfo: v1, v2, hybrid or nothing, and the controllers
// of v1.
func hierarchies(mountinfo string) (kind string, controllers []string) {
	v1, v2 := false, false
	for line := range strings.Lines(mountinfo) {
		before, after, found := strings.Cut(line, " - ")
		fields := strings.Fields(after)
		if !found || len(fields) < 3 || !strings.Contains(before, " /sys/fs/cgroup") {
			continue
		}
		switch fields[0] {
		case "cgroup2":
			v2 = true
		case "cgroup":
			v1 = true
			for _, word := range strings.Split(fields[2], ",") {
				if word != "rw" && word != "ro" && !strings.Contains(word, "=") {
					controllers = append(controllers, word)
				}
			}
		}
	}
	switch {
	case v1 && v2:
		return "hybrid", controllers
	case v1:
		return "v1", controllers
	case v2:
		return "v2", nil
	}
	return "", nil
}

func (d *doctor) tun(context.Context) Check {
	const fix = "modprobe tun; in a container: let it have the device"
	_, err := os.Stat("/dev/net/tun")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return warning(fix, "is not there; sandboxes have no network without it")
	case err != nil:
		return warning(fix, "%v", err)
	}
	f, err := os.OpenFile("/dev/net/tun", os.O_RDWR, 0)
	if errors.Is(err, fs.ErrPermission) && !d.Root {
		return skipped("needs root")
	}
	if err != nil {
		return warning(fix, "cannot be opened: %v", err)
	}
	f.Close()
	if !d.Root {
		return skipped("can be opened; whether a sandbox can be given a network needs root to see")
	}
	return tryTap("/dev/net/tun")
}

func (d *doctor) memory(context.Context) Check {
	b, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return warning("mount /proc", "%v", err)
	}
	free := meminfo(string(b), "MemAvailable") >> 10
	const fix = "end something else, or take a bigger machine"
	switch {
	case free < 256:
		return failed(fix, "%d MiB are free; an idle sandbox takes about 100", free)
	case free < 1024:
		return warning(fix, "%d MiB are free; an idle sandbox takes about 100, an agent at work more", free)
	}
	return ok("%.1f GiB free", float64(free)/1024)
}

// meminfo reads one line of /proc/meminfo, in KiB.
func meminfo(text, name string) int64 {
	_, rest, _ := strings.Cut(text, name+":")
	line, _, _ := strings.Cut(rest, "\n")
	n, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(line), "kB")), 10, 64)
	return n
}

// clock compares this machine's time with that of the program's making: nothing
// else here knows the time.
func (d *doctor) clock(context.Context) Check {
	now := time.Now()
	if info, err := os.Stat(d.Exe); err == nil && now.Before(info.ModTime().Add(-24*time.Hour)) {
		return failed("set it: timedatectl set-ntp true", "it is %s, before this program was made: agents will trust no certificate", now.Format(time.RFC3339))
	}
	var t unix.Timex
	if state, err := unix.Adjtimex(&t); err == nil && (state == unix.TIME_ERROR || t.Status&unix.STA_UNSYNC != 0) {
		return ok("%s; nothing keeps it exact (no NTP)", now.Format(time.RFC3339))
	}
	return ok("%s, kept exact", now.Format(time.RFC3339))
}
