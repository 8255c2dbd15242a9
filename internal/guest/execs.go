package guest

import (
	"context"
	"sync"
	"time"

	"paddock/internal/fault"
	"paddock/internal/guestapi"
	"paddock/internal/id"
)

const (
	// maxExecs bounds the execs held at once, running or not yet taken.
	maxExecs = 512
	// keepExec is how long one that has ended is kept after the host last asked.
	keepExec = 10 * time.Minute
	// maxWait bounds one wait of a call.
	maxWait = 10 * time.Minute
)

// execs are the processes that the host started beside the agent.
type execs struct {
	daemon *Daemon

	mu     sync.Mutex // held across a start: the same id again must find it
	byID   map[id.Exec]*execution
	closed bool
}

func (x *execs) start(ctx context.Context, key id.Exec, request guestapi.ExecRequest) (*execution, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if e := x.byID[key]; e != nil {
		return e, nil
	}
	if x.closed {
		return nil, fault.New(fault.Unavailable, "the machine is shutting down")
	}
	if len(x.byID) >= maxExecs {
		return nil, fault.New(fault.TooManyRequests, "there are %d execs at once; wait for one to end", maxExecs)
	}
	if request.Timeout <= 0 {
		return nil, fault.New(fault.BadRequest, "the time-out is %v; it must be more than 0", request.Timeout)
	}
	d := x.daemon
	user, err := d.user(request.User)
	if err != nil {
		return nil, err
	}
	spec, err := d.command(user, request.Argv, request.Dir, d.sessionEnv(), request.Env)
	if err != nil {
		return nil, err
	}
	spec.Tasks = d.options.AgentTasks
	if d.asRoot() {
		spec.Tasks += spec.Tasks / 8 // half of what the agent, root as well, is not given
	}
	enough := d.relief.want()
	e, err := startExecution(d.ctx, d.table, spec, request.Stdin, request.Timeout)
	if err != nil {
		enough()
		return nil, startFault(err, spec)
	}
	d.work.Go(func() {
		young := time.NewTimer(reliefSpan)
		defer young.Stop()
		select {
		case <-e.process.Done():
		case <-young.C:
		}
		enough()
	})
	x.byID[key] = e
	return e, nil
}

func (x *execs) find(key id.Exec) (*execution, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if e := x.byID[key]; e != nil {
		return e, nil
	}
	return nil, fault.New(fault.NotFound, "there is no exec %s (any more)", key)
}

func (x *execs) end(key id.Exec) {
	x.mu.Lock()
	e := x.byID[key]
	delete(x.byID, key)
	x.mu.Unlock()
	if e != nil {
		e.forget()
		// What still runs of it (a child that holds the pipe) ends with the daemon.
		x.daemon.work.Go(func() { x.see(e) })
	}
}

// see waits for a forgotten exec's goroutines, and cuts them short when the
// daemon ends.
func (x *execs) see(e *execution) {
	over := make(chan struct{})
	x.daemon.work.Go(func() {
		e.work.Wait()
		close(over)
	})
	select {
	case <-over:
	case <-x.daemon.ctx.Done():
		e.close()
	}
}

// expire forgets the execs that ended and that nobody has asked for in a while.
func (x *execs) expire(now time.Time) {
	x.mu.Lock()
	var old []id.Exec
	for key, e := range x.byID {
		e.mu.Lock()
		if !e.ended.IsZero() && now.Sub(e.ended) > keepExec && now.Sub(e.touched) > keepExec {
			old = append(old, key)
		}
		e.mu.Unlock()
	}
	x.mu.Unlock()
	for _, key := range old {
		x.end(key)
	}
}

// closeAll ends every exec.
func (x *execs) closeAll() {
	x.mu.Lock()
	x.closed = true
	all := x.byID
	x.byID = nil
	x.mu.Unlock()
	for _, e := range all {
		e.close()
	}
}

// StartExec is part of guestapi.Guest.
func (d *Daemon) StartExec(ctx context.Context, key id.Exec, request guestapi.ExecRequest, wait time.Duration) (guestapi.ExecProgress, error) {
	e, err := d.execs.start(ctx, key, request)
	if err != nil {
		return guestapi.ExecProgress{}, err
	}
	// A full window is news too: nothing goes on until it is taken.
	e.await(ctx, min(wait, maxWait), func() bool {
		return e.exit != nil || len(e.stdout.buf) >= guestapi.ExecWindow || len(e.stderr.buf) >= guestapi.ExecWindow
	})
	return e.progress(0, 0)
}

// PollExec is part of guestapi.Guest.
func (d *Daemon) PollExec(ctx context.Context, key id.Exec, stdout, stderr int64, wait time.Duration) (guestapi.ExecProgress, error) {
	e, err := d.execs.find(key)
	if err != nil {
		return guestapi.ExecProgress{}, err
	}
	if _, err := e.progress(stdout, stderr); err != nil { // lets go of what was taken, so that more can come
		return guestapi.ExecProgress{}, err
	}
	e.await(ctx, min(wait, maxWait), func() bool {
		return e.exit != nil || len(e.stdout.buf) > 0 || len(e.stderr.buf) > 0
	})
	return e.progress(stdout, stderr)
}

// EndExec is part of guestapi.Guest.
func (d *Daemon) EndExec(_ context.Context, key id.Exec) error {
	d.execs.end(key)
	return nil
}
