package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"paddock/internal/fault"
	"paddock/internal/guestapi"
	"paddock/internal/id"
	"paddock/internal/logging"
	"paddock/internal/session"
)

// execPoll is how long one question about a running exec waits in the guest.
const execPoll = 10 * time.Second

// execPace is the least time between two answers about a running exec that say
// nothing new: a guest that does not wait as it is told does not keep us busy.
const execPace = 50 * time.Millisecond

// Exec runs one program in the session's sandbox and returns how it went. It
// does not wait for a run and no policy applies to it; a paused session is
// resumed first. Named by a key it outlives its caller (see execOnce).
func (e *Engine) Exec(ctx context.Context, team id.Team, ref string, req ExecRequest) (ExecResult, error) {
	if err := checkExec(&req); err != nil {
		return ExecResult{}, err
	}
	if req.Once.Key != "" {
		return e.execOnce(ctx, team, ref, req)
	}
	m, release, err := e.reach(ctx, team, ref)
	if err != nil {
		return ExecResult{}, err
	}
	defer release()
	x := execution{machine: m, id: id.New[id.Exec]()}
	defer x.end(ctx)
	return x.run(ctx, req.guest())
}

// guest is the request in the guest's words.
func (r ExecRequest) guest() guestapi.ExecRequest {
	return guestapi.ExecRequest{Argv: r.Argv, Dir: r.Workdir, User: r.User, Env: r.Env, Stdin: r.Stdin, Timeout: r.Timeout}
}

func checkExec(req *ExecRequest) error {
	if len(req.Argv) == 0 || req.Argv[0] == "" {
		return fault.New(fault.BadRequest, "argv is empty; give the program and its arguments as a list")
	}
	switch req.User {
	case "", guestapi.AgentUser, "root":
	default:
		return fault.New(fault.BadRequest, "user is %q; it is agent or root", req.User)
	}
	if strings.ContainsRune(strings.Join(req.Argv, "")+req.Workdir, 0) {
		return fault.New(fault.BadRequest, "argv and workdir have no zero bytes; give such bytes on stdin")
	}
	for name, value := range req.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(value, "\x00") {
			return fault.New(fault.BadRequest, "env: %.64q cannot be set; a name is not empty and has no '=', and there are no zero bytes", name)
		}
	}
	switch {
	case req.Timeout < 0:
		return fault.New(fault.BadRequest, "timeout_seconds is negative")
	case req.Timeout == 0:
		req.Timeout = DefaultExecTimeout
	case req.Timeout > MaxExecTimeout:
		return fault.New(fault.BadRequest, "timeout_seconds is more than %d (24 h)", int(MaxExecTimeout.Seconds()))
	}
	return nil
}

// reach gives the machine of a session for a call that acts on it directly,
// awake, and kept awake until release.
func (e *Engine) reach(ctx context.Context, team id.Team, ref string) (*machine, func(), error) {
	s, err := e.find(ctx, team, ref)
	if err != nil {
		return nil, nil, err
	}
	if s.State != session.Ready && s.State != session.Paused {
		return nil, nil, fault.New(fault.Conflict, "%s", notNow(s))
	}
	m := e.machineOf(s.ID)
	if m == nil && s.State == session.Paused { // it was lost meanwhile
		if err := e.wakeSession(ctx, s.ID); err != nil {
			return nil, nil, err
		}
		m = e.machineOf(s.ID)
	}
	if m == nil {
		return nil, nil, e.refuseState(ctx, s.ID)
	}
	release := m.keepAwake() // from here on it does not pause for being idle
	if err := e.wake(ctx, m); err != nil {
		release()
		return nil, nil, err
	}
	return m, release, nil
}

// execution is one exec under way.
type execution struct {
	machine *machine
	id      id.Exec
	result  ExecResult
	read    [2]int64 // bytes taken of stdout, stderr
	most    int      // bytes kept of each; 0: MaxExecOutput
}

// run starts the program and follows it to its end. The start is idempotent by
// id and output is read by offset, so a lost connection costs nothing.
func (x *execution) run(ctx context.Context, req guestapi.ExecRequest) (ExecResult, error) {
	p, err := askBriefly(ctx, x.machine, execPoll, func(ctx context.Context, g guestapi.Guest) (guestapi.ExecProgress, error) {
		return g.StartExec(ctx, x.id, req, execPoll)
	})
	return x.follow(ctx, p, err)
}

// follow takes what comes until the program has ended.
func (x *execution) follow(ctx context.Context, p guestapi.ExecProgress, err error) (ExecResult, error) {
	for {
		next := time.Now().Add(execPace)
		if err != nil {
			return ExecResult{}, x.failure(err)
		}
		x.take(p)
		if p.Done() {
			x.result.Code, x.result.TimedOut = p.Exit.Code, p.Exit.TimedOut
			x.result.Detached, x.result.Duration = p.Exit.Detached, p.Exit.Duration
			return x.result, nil
		}
		p, err = askBriefly(ctx, x.machine, execPoll, func(ctx context.Context, g guestapi.Guest) (guestapi.ExecProgress, error) {
			return g.PollExec(ctx, x.id, x.read[0], x.read[1], execPoll)
		})
		if err == nil && !p.Done() && len(p.Stdout)+len(p.Stderr) == 0 {
			select {
			case <-time.After(time.Until(next)):
			case <-ctx.Done():
			}
		}
	}
}

// failure tells a lost machine from a refusal.
func (x *execution) failure(err error) error {
	select {
	case <-x.machine.box.Done():
		return errSandboxLost
	default:
		return err
	}
}

func (x *execution) take(p guestapi.ExecProgress) {
	x.read[0] += int64(len(p.Stdout))
	x.read[1] += int64(len(p.Stderr))
	x.result.Stdout, x.result.StdoutTruncated = keep(x.result.Stdout, p.Stdout, x.result.StdoutTruncated, cmp.Or(x.most, MaxExecOutput))
	x.result.Stderr, x.result.StderrTruncated = keep(x.result.Stderr, p.Stderr, x.result.StderrTruncated, MaxExecOutput)
}

// keep adds what fits below most, and says whether something did not.
func keep(have, more []byte, truncated bool, most int) ([]byte, bool) {
	room := most - len(have)
	if len(more) > room {
		return append(have, more[:room]...), true
	}
	return append(have, more...), truncated
}

// end lets the guest forget the exec, killing it when its caller has gone. When
// the server stops it is left alone.
func (x *execution) end(ctx context.Context) {
	if x.machine.engine.leaving.Load() {
		return
	}
	x.machine.engine.spawn(func(life context.Context) {
		own, cancel := context.WithTimeout(logging.Carry(life, ctx), linkPatience)
		defer cancel()
		_, err := ask(own, x.machine, func(g guestapi.Guest) (struct{}, error) { return struct{}{}, g.EndExec(own, x.id) })
		if err != nil && own.Err() == nil && !errors.Is(err, errSandboxLost) {
			x.machine.engine.log.DebugContext(own, "forget exec", "session_id", x.machine.session, "error", err)
		}
	})
}

// ListFiles lists a folder of the session's workspace.
func (e *Engine) ListFiles(ctx context.Context, team id.Team, ref, path string) ([]guestapi.File, error) {
	m, release, err := e.reach(ctx, team, ref)
	if err != nil {
		return nil, err
	}
	defer release()
	return askBriefly(ctx, m, 0, func(ctx context.Context, g guestapi.Guest) ([]guestapi.File, error) { return g.ListFiles(ctx, path) })
}

// ReadFile opens a file of the session's workspace at offset; length < 0 means
// to its end. The caller closes the reader, which holds the session awake.
func (e *Engine) ReadFile(ctx context.Context, team id.Team, ref, path string, offset, length int64) (guestapi.File, io.ReadCloser, error) {
	m, release, err := e.reach(ctx, team, ref)
	if err != nil {
		return guestapi.File{}, nil, err
	}
	type opened struct {
		file guestapi.File
		body io.ReadCloser
	}
	ctx, v := m.watchOver(ctx, e.patience)
	o, err := ask(ctx, m, func(g guestapi.Guest) (opened, error) {
		f, body, err := g.ReadFile(ctx, path, offset, length)
		return opened{f, body}, err
	})
	v.expect(0)
	if err != nil {
		v.end()
		release()
		return guestapi.File{}, nil, fmt.Errorf("read %s: %w", path, err)
	}
	return o.file, &watchedBody{ReadCloser: o.body, ctx: ctx, vigil: v, release: release}, nil
}
