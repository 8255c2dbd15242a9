// Package proc starts, reaps, tells apart and ends the processes of a sandbox
// for the daemon that is its pid 1.
//
// One Table owns wait4(2): it reaps whatever ends, the orphans that the kernel
// hands to pid 1 included, and gives the status to whoever started the process.
// So nobody else in the daemon may wait for a child (no exec.Cmd).
package proc

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Table holds the processes that this daemon started. All methods are safe for
// concurrent use.
type Table struct {
	root   bool // we may become other users
	work   sync.WaitGroup
	stop   chan struct{}
	events chan os.Signal
	plain  *plainThread // starts what does not run as root
	blame  sync.Map     // pid → why it was killed

	mu   sync.Mutex       // held across fork, so that no status comes before its process is known
	live map[int]*Process // not yet reaped, by pid
}

// NewTable starts to reap every child of this process. There can be only one.
func NewTable() *Table {
	t := &Table{
		root: os.Geteuid() == 0, stop: make(chan struct{}), events: make(chan os.Signal, 1), live: map[int]*Process{},
		plain: newPlainThread(),
	}
	signal.Notify(t.events, unix.SIGCHLD)
	t.work.Go(t.reap)
	t.work.Go(func() { t.plain.serve(t.stop) })
	return t
}

// Close stops reaping. The processes go on.
func (t *Table) Close() {
	signal.Stop(t.events)
	close(t.stop)
	t.work.Wait()
}

func (t *Table) reap() {
	for {
		t.reapAll()
		select {
		case <-t.events:
		case <-t.stop:
			return
		}
	}
}

func (t *Table) reapAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WNOHANG, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
		if p, ours := t.live[pid]; ours {
			delete(t.live, pid)
			p.exit = Exit{At: time.Now(), status: status}
			if why, ok := t.blame.LoadAndDelete(pid); ok {
				p.exit.why = why.(string)
			}
			close(p.done)
		}
	}
}

// Start starts a process in a session and process group of its own. The files
// in spec stay the caller's, who may close them once Start has returned. The
// error is an *os.PathError with the errno of fork, chdir or exec.
func (t *Table) Start(spec Spec) (*Process, error) {
	attr := &syscall.ProcAttr{Dir: spec.Dir, Env: spec.Env, Sys: &syscall.SysProcAttr{Setsid: true}}
	for _, f := range spec.Files {
		attr.Files = append(attr.Files, f.Fd())
	}
	if t.root {
		attr.Sys.Credential = spec.User.credential()
	}
	spec.cage.build(attr.Sys, spec.User)
	t.mu.Lock()
	defer t.mu.Unlock()
	var pid int
	fork := func() (err error) {
		starting.RLock()
		defer starting.RUnlock()
		pid, err = syscall.ForkExec(spec.Path, spec.Argv, attr)
		return err
	}
	var err error
	if t.root && spec.User.UID != 0 && spec.cage == none { // a launcher gives the set up in its cage
		err = t.plain.run(fork)
	} else {
		err = fork()
	}
	if err != nil {
		return nil, &os.PathError{Op: "start", Path: spec.Path, Err: err}
	}
	if spec.Tasks > 0 && spec.User.UID == 0 {
		// Refused only when it has ended, or is root no more.
		_ = unix.Prlimit(pid, unix.RLIMIT_NPROC, &unix.Rlimit{Cur: spec.Tasks, Max: spec.Tasks}, nil)
	}
	p := &Process{table: t, Pid: pid, done: make(chan struct{})}
	t.live[pid] = p
	return p, nil
}

// Blame says why a process that the table started is about to be killed; its
// Exit will tell. It waits for nothing.
func (t *Table) Blame(pid int, why string) { t.blame.Store(pid, why) }
