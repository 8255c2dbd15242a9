package proc

import (
	"encoding/json"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// launchOOMScore makes the kernel of a machine that is out of memory end what
// was launched before the daemon. Descendants inherit it.
const launchOOMScore = "500"

// LimitTasks bounds the processes and threads of this process's user, for this
// process and all it starts, for good: the hard limit goes down, too. Where it
// is lower already it stays. It returns the limit that now holds.
func LimitTasks(n uint64) (uint64, error) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NPROC, &limit); err != nil {
		return 0, fmt.Errorf("read task limit: %w", err)
	}
	n = min(n, limit.Max)
	if err := unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: n, Max: n}); err != nil {
		return 0, fmt.Errorf("limit tasks: %w", err)
	}
	return n, nil
}

// Limited makes spec start its program under a task limit of its own, lower
// than the daemon's: through launcher, a program that calls Launch. (The daemon
// cannot lower its own limit for a moment: it lacks the capability to raise it
// again.)
func (s Spec) Limited(launcher []string, tasks uint64) Spec {
	return s.launched(launcher, order{Tasks: tasks})
}

// Launch is the other end of Limited and Caged: args are the order, the program's
// path and its argv. It returns only when that cannot be started.
func Launch(args []string) error {
	if len(args) < 3 {
		return fmt.Errorf("launch: want ORDER PROGRAM ARGV0 [ARG…]")
	}
	var o order
	if err := json.Unmarshal([]byte(args[0]), &o); err != nil {
		return fmt.Errorf("launch: order: %w", err)
	}
	if o.Tasks > 0 {
		if _, err := LimitTasks(o.Tasks); err != nil {
			return fmt.Errorf("launch: %w", err)
		}
	}
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte(launchOOMScore), 0) // not every kernel has it
	if o.Confine {
		if err := o.confine(); err != nil {
			return fmt.Errorf("the agent cannot be kept to the folders of permissions.filesystem, so it was not started: %w", err)
		}
	}
	if o.Become {
		if err := o.become(); err != nil {
			return fmt.Errorf("the agent cannot be given its user, so it was not started: %w", err)
		}
	}
	if err := syscall.Exec(args[1], args[2:], os.Environ()); err != nil {
		return fmt.Errorf("start %s: %w", args[1], err)
	}
	return nil
}
