package proc

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Spec says what to start.
type Spec struct {
	Path  string // of the program; see LookPath
	Argv  []string
	Dir   string
	Env   []string
	User  User
	Files [3]*os.File // stdin, stdout, stderr
	// Tasks bounds the processes and threads of root that a process of root,
	// and all it starts, may come to; 0: the daemon's own limit holds. It is set
	// a moment after the start, which who means harm might use: this is for
	// programs that run wild.
	Tasks uint64
	cage  cage // by Caged and Apart
}

// User is who a process runs as.
type User struct {
	Name  string
	Home  string
	Shell string
	UID   uint32
	GID   uint32
	// Groups are the supplementary groups. A process without capabilities
	// cannot leave one, so a group also marks a tree of processes: see Tree.
	Groups []uint32
}

func (u User) credential() *syscall.Credential {
	return &syscall.Credential{Uid: u.UID, Gid: u.GID, Groups: u.Groups}
}

// Process is a process that the table started.
type Process struct {
	Pid    int
	table  *Table
	killed atomic.Bool // by KillGroup
	done   chan struct{}
	exit   Exit // valid once done is closed
}

// Exit is how a process ended, as wait4(2) told.
type Exit struct {
	At     time.Time
	status unix.WaitStatus
	why    string // see Table.Blame
}

// Code is the exit status, or 128 plus the signal that ended the process.
func (e Exit) Code() int {
	if e.status.Signaled() {
		return 128 + int(e.status.Signal())
	}
	return e.status.ExitStatus()
}

// String says it for people: "exited with code 3", "was killed by signal 9 (killed)".
func (e Exit) String() string {
	if e.status.Signaled() && e.why != "" {
		return "was ended, " + e.why
	}
	if e.status.Signaled() {
		return fmt.Sprintf("was killed by signal %d (%s)", int(e.status.Signal()), e.status.Signal())
	}
	return fmt.Sprintf("exited with code %d", e.status.ExitStatus())
}

// Done is closed when the process has ended and been reaped.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit says how the process ended. Only valid once Done is closed.
func (p *Process) Exit() Exit { return p.exit }

// Dying says whether the process has ended, or was killed and has not come to die
// of that yet. Not every machine tells the latter of what somebody else killed.
func (p *Process) Dying() bool {
	select {
	case <-p.done:
		return true
	default:
	}
	if p.killed.Load() {
		return true
	}
	status, err := look(p.Pid, "status")
	return err == nil && doomed(status)
}

// doomed reads /proc/PID/status: SIGKILL waits for the process, or for its first
// thread.
func doomed(status []byte) bool {
	for line := range bytes.Lines(status) {
		fields := bytes.Fields(line)
		if len(fields) < 2 || string(fields[0]) != "SigPnd:" && string(fields[0]) != "ShdPnd:" {
			continue
		}
		pending, err := strconv.ParseUint(string(fields[1]), 16, 64)
		if err == nil && pending&(1<<(unix.SIGKILL-1)) != 0 {
			return true
		}
	}
	return false
}

// KillGroup sends SIGKILL to the process group while its leader is not reaped
// (a later one could be a stranger's). It is no error when there is none.
func (p *Process) KillGroup() {
	p.table.mu.Lock()
	defer p.table.mu.Unlock()
	p.killed.Store(true)
	if _, running := p.table.live[p.Pid]; running {
		_ = unix.Kill(-p.Pid, unix.SIGKILL) // fails only when the group is gone
	}
}
