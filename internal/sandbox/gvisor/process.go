package gvisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// process is a process of this host held by a pidfd: whatever is done with it
// reaches this process or nothing, never another that was given its number.
type process struct {
	pid  int
	file *os.File // the pidfd, waited for by the Go runtime's poller
	conn syscall.RawConn
}

// openProcess takes hold of process pid. It returns unix.ESRCH when there is
// none.
func openProcess(pid int) (*process, error) {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), "pidfd:"+strconv.Itoa(pid))
	conn, err := file.SyscallConn()
	if err != nil {
		file.Close()
		return nil, err
	}
	return &process{pid: pid, file: file, conn: conn}, nil
}

// openOwn takes hold of process pid if it belongs to the machine whose runsc
// state root is given; it returns nil when it does not (any more).
func openOwn(pid int, root string) (*process, error) {
	p, err := openProcess(pid)
	if errors.Is(err, unix.ESRCH) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open process %d: %w", pid, err)
	}
	// Looked at after the pidfd was taken: if it is ours now and the pidfd
	// still lives afterwards, the pidfd is of ours.
	if rootOf(pid) != root || p.signal(0) != nil {
		p.close()
		return nil, nil
	}
	return p, nil
}

// wait returns when the process has ended, or an error when it is interrupted,
// let go of, or past its deadline.
func (p *process) wait() error { return p.conn.Read(hasEnded) }

// ended says whether the process has ended; it is false for one let go of.
func (p *process) ended() (yes bool) {
	p.conn.Control(func(fd uintptr) { yes = hasEnded(fd) })
	return yes
}

// hasEnded says whether a pidfd is readable, which it is once its process ends.
func hasEnded(fd uintptr) bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
	return err == nil && n > 0
}

func (p *process) signal(sig unix.Signal) error {
	err := os.ErrClosed
	if e := p.conn.Control(func(fd uintptr) { err = unix.PidfdSendSignal(int(fd), sig, nil, 0) }); e != nil {
		return e
	}
	return err
}

// reap collects an ended process that is a child of ours, so that no zombie
// stays. It says how the process ended; ours is false for other's children,
// and for one that was collected before.
func (p *process) reap() (ws unix.WaitStatus, ours bool) {
	p.conn.Control(func(fd uintptr) {
		if unix.Waitid(unix.P_PIDFD, int(fd), nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil) != nil {
			return
		}
		// Our zombie: nobody else can be given its number before it is collected.
		pid, err := unix.Wait4(p.pid, &ws, unix.WNOHANG, nil)
		ours = err == nil && pid == p.pid
	})
	return ws, ours
}

// end kills the process and returns when it is gone and collected.
func (p *process) end(deadline time.Time) error {
	if err := p.signal(unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("kill process %d: %w", p.pid, err)
	}
	if err := p.file.SetReadDeadline(deadline); err != nil {
		return fmt.Errorf("wait for process %d: %w", p.pid, err)
	}
	if err := p.wait(); err != nil {
		return fmt.Errorf("wait for killed process %d: %w", p.pid, err)
	}
	p.reap()
	return nil
}

// isChild says whether the process is a child of ours that was not collected.
func (p *process) isChild() (yes bool) {
	p.conn.Control(func(fd uintptr) {
		yes = unix.Waitid(unix.P_PIDFD, int(fd), nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil) == nil
	})
	return yes
}

// interrupt makes wait return os.ErrDeadlineExceeded.
func (p *process) interrupt() { p.file.SetReadDeadline(time.Unix(1, 0)) }

func (p *process) close() { p.file.Close() }

// offer makes the host's kernel look at a process first when the machine's
// memory group is full, and at all that it starts: a dead stub process is one
// dead process inside, while a dead kernel or gofer is a dead machine. (To
// spare these instead needs a capability that not every server has.)
func offer(pid int) {
	const score = "500"
	os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid), []byte(score), 0) // fails only when the process has ended
}

// treePids gives pid and all its descendants, parents first.
func treePids(pid int) []int {
	pids := []int{pid}
	for i := 0; i < len(pids); i++ {
		lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pids[i]))
		for _, list := range lists {
			text, _ := os.ReadFile(list)
			for _, field := range strings.Fields(string(text)) {
				if child, err := strconv.Atoi(field); err == nil {
					pids = append(pids, child)
				}
			}
		}
	}
	return pids
}

// killTime is how long killed processes may take to go: a machine of many
// gigabytes gives its memory back in seconds.
const killTime = 30 * time.Second

// endProcesses kills what list finds, until it finds nothing more.
func endProcesses(ctx context.Context, list func() ([]*process, error)) error {
	deadline := time.Now().Add(killTime)
	if d, ok := ctx.Deadline(); ok && d.Before(deadline) {
		deadline = d
	}
	for {
		found, err := list()
		if err != nil || len(found) == 0 {
			return err
		}
		for _, p := range found {
			err = errors.Join(err, p.end(deadline))
		}
		for _, p := range found {
			p.close()
		}
		if err != nil {
			return err
		}
	}
}

func readNames(folder string) ([]string, error) {
	f, err := os.Open(folder)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}
