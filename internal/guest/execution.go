package guest

import (
	"context"
	"os"
	"sync"
	"time"

	"paddock/internal/guest/proc"
	"paddock/internal/guestapi"
)

// detachGrace is how long an exec that has ended waits for the end of its
// output, which a child may hold open.
const detachGrace = 250 * time.Millisecond

// execution is one exec: a process, and what is held of its output.
type execution struct {
	process *proc.Process
	timeout time.Duration
	began   time.Time
	work    sync.WaitGroup // its goroutines

	mu      sync.Mutex
	changed chan struct{} // closed and replaced at each change
	scratch []byte        // where pipes are read into
	stdout  window
	stderr  window
	exit    *guestapi.ExecExit // once the process has ended
	ended   time.Time
	touched time.Time // the host last asked
}

// changeLocked wakes everybody who waits for something to happen. Locked.
func (e *execution) changeLocked() {
	close(e.changed)
	e.changed = make(chan struct{})
}

// waitLocked waits for the next change. Locked before and after.
func (e *execution) waitLocked() {
	changed := e.changed
	e.mu.Unlock()
	<-changed
	e.mu.Lock()
}

// startExecution starts the process and what belongs to it.
func startExecution(ctx context.Context, table *proc.Table, spec proc.Spec, stdin []byte, timeout time.Duration) (*execution, error) {
	in, feed, err := stdinPipe(stdin)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	outR, outW, err := os.Pipe()
	if err != nil {
		return nil, closing(err, feed)
	}
	defer outW.Close()
	errR, errW, err := os.Pipe()
	if err != nil {
		return nil, closing(err, feed, outR)
	}
	defer errW.Close()
	spec.Files = [3]*os.File{in, outW, errW}
	e := &execution{timeout: timeout, began: time.Now(), changed: make(chan struct{}), scratch: make([]byte, 64<<10), touched: time.Now()}
	if e.process, err = table.Start(spec); err != nil {
		return nil, closing(err, feed, outR, errR)
	}
	e.stdout = window{exec: e, pipe: outR, floor: -1}
	e.stderr = window{exec: e, pipe: errR, floor: -1}
	e.work.Go(e.stdout.pump)
	e.work.Go(e.stderr.pump)
	if feed != nil {
		e.work.Go(func() {
			_, _ = feed.Write(stdin) // a process that reads no more of it is no failure
			_ = feed.Close()
		})
	}
	e.work.Go(func() { e.watch(ctx, feed) })
	return e, nil
}

// stdinPipe gives the read end that the process gets, and the write end for
// what it is to read; nil when that is nothing.
func stdinPipe(stdin []byte) (in, feed *os.File, err error) {
	if len(stdin) == 0 {
		in, err = os.Open(os.DevNull)
		return in, nil, err
	}
	return os.Pipe()
}

func closing(err error, files ...*os.File) error {
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
	return err
}

// watch sees the process to its end, then the output.
func (e *execution) watch(ctx context.Context, feed *os.File) {
	timedOut := !endsWithin(ctx, e.process.Done(), e.timeout)
	if timedOut {
		e.process.KillGroup()
		<-e.process.Done()
	}
	if feed != nil {
		_ = feed.Close() // a child that holds stdin gets its end
	}
	grace := time.NewTimer(detachGrace)
	defer grace.Stop()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ended = time.Now()
	exit := guestapi.ExecExit{Code: e.process.Exit().Code(), TimedOut: timedOut && ctx.Err() == nil, Duration: e.process.Exit().At.Sub(e.began)}
	e.stdout.mark()
	e.stderr.mark()
	graceOver := false
	for !e.stdout.eof || !e.stderr.eof {
		if graceOver && e.stdout.whole() && e.stderr.whole() {
			exit.Detached = true
			e.stdout.detach()
			e.stderr.detach()
			break
		}
		changed := e.changed
		e.mu.Unlock()
		select {
		case <-changed:
		case <-grace.C:
			graceOver = true
		}
		e.mu.Lock()
	}
	e.exit = &exit
	e.changeLocked()
}

// progress gives what there is from the offsets on.
func (e *execution) progress(stdout, stderr int64) (p guestapi.ExecProgress, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.touched = time.Now()
	if p.Stdout, p.StdoutEOF, err = e.stdout.from(stdout); err != nil {
		return guestapi.ExecProgress{}, err
	}
	if p.Stderr, p.StderrEOF, err = e.stderr.from(stderr); err != nil {
		return guestapi.ExecProgress{}, err
	}
	p.Exit = e.exit
	return p, nil
}

// await waits until done says yes, at most wait, or until ctx is over. done is
// called with the lock held.
func (e *execution) await(ctx context.Context, wait time.Duration, done func() bool) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		e.mu.Lock()
		ok, changed := done(), e.changed
		e.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// forget kills the process group, if it runs, and lets go of the output: a
// child that lives on writes into nothing.
func (e *execution) forget() {
	e.process.KillGroup()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stdout.detach()
	e.stderr.detach()
	e.stdout.buf, e.stderr.buf = nil, nil
	e.changeLocked()
}

// close ends the process and its goroutines, whoever still holds the pipes.
func (e *execution) close() {
	e.forget()
	<-e.process.Done()
	_ = e.stdout.pipe.Close()
	_ = e.stderr.pipe.Close()
	e.work.Wait()
}
