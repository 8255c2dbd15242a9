package proc

import (
	"errors"
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// plainThread is a thread that has given up the capability bounding set, for
// good. What it forks can never gain a capability, not even by executing a file
// that has some. (The set belongs to a thread; the daemon needs its own to start
// processes of root.)
type plainThread struct {
	starts chan func()
	failed error // why the set could not be given up; valid once ready is closed
	ready  chan struct{}
}

func newPlainThread() *plainThread {
	return &plainThread{starts: make(chan func()), ready: make(chan struct{})}
}

// serve runs on the thread, which ends with it.
func (p *plainThread) serve(stop <-chan struct{}) {
	runtime.LockOSThread() // never unlocked: nothing else may run on this thread
	p.failed = dropBoundingSet(0)
	close(p.ready)
	for {
		select {
		case start := <-p.starts:
			start()
		case <-stop:
			return
		}
	}
}

// run does start on the thread and waits for it.
func (p *plainThread) run(start func() error) error {
	<-p.ready
	if p.failed != nil {
		return p.failed
	}
	done := make(chan error, 1)
	p.starts <- func() { done <- start() }
	return <-done
}

// dropBoundingSet drops every capability that the kernel knows, but those to
// keep, a bit each; it answers EINVAL past the last one (prctl(2),
// PR_CAPBSET_DROP).
func dropBoundingSet(keep uint64) error {
	for c := uintptr(0); ; c++ {
		if c < 64 && keep&(1<<c) != 0 {
			continue
		}
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if errors.Is(err, unix.EINVAL) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("give up capability %d: %w", c, err)
		}
	}
}
