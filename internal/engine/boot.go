package engine

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"paddock/internal/environment"
	"paddock/internal/event"
	"paddock/internal/failpoint"
	"paddock/internal/fault"
	"paddock/internal/guestapi"
	"paddock/internal/id"
	"paddock/internal/sandbox"
	"paddock/internal/session"
	"paddock/internal/store"
)

// bootDeadline is how long a session may be provisioning.
const bootDeadline = 120 * time.Second

// boot makes a session's machine and reports it ready, or failed. It is a verb
// of the session's actor, and also what a restarted server does with a session
// that it finds provisioning.
func (e *Engine) boot(ctx context.Context, a *actor) {
	s, err := e.store.SessionByID(ctx, a.session)
	if err != nil || s.State != session.Provisioning {
		return
	}
	ctx, cancel := context.WithDeadline(ctx, s.Deadline)
	defer cancel()
	err = e.bringUp(ctx, a, s)
	if err == nil || e.ctx.Err() != nil {
		return // ready; or the server stops, and the next one goes on here
	}
	e.log.Error("start sandbox", "session_id", s.ID, "error", err)
	why := "its sandbox could not be started"
	var f *fault.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		why = fmt.Sprintf("its sandbox was not up within %s", bootDeadline)
	case errors.As(err, &f):
		why = f.Message
	}
	e.giveUp(a, session.CauseBootFailed, why)
}

// bringUp goes from nothing to ready.
func (e *Engine) bringUp(ctx context.Context, a *actor, s session.Session) error {
	env, err := e.store.Environment(ctx, s.Environment)
	if err != nil {
		return fmt.Errorf("read environment: %w", err)
	}
	if err := e.clearMachine(ctx, a); err != nil {
		return fmt.Errorf("clear what an earlier start left: %w", err)
	}
	spec := machineSpec(s, env.Spec)
	handle, epoch, err := e.plan(ctx, s, spec)
	if err != nil {
		return err
	}
	failpoint.Hit("boot.planned")
	box, err := e.driver.Start(ctx, handle, spec)
	if err != nil {
		return fmt.Errorf("start sandbox: %w", err)
	}
	failpoint.Hit("boot.started")
	m := e.hold(s, box, guestConfig(s, env.Spec), e.now())
	a.attach(m)
	if err := m.waitUp(ctx); err != nil {
		return fmt.Errorf("wait for guest: %w", err)
	}
	err = e.change(ctx, s.ID, func(c *change) error {
		if c.s.State != session.Provisioning {
			return fmt.Errorf("session became %s while it started", c.s.State)
		}
		c.emit(id.Run{}, event.SandboxAllocated, event.Allocated{SandboxID: spec.ID, Kind: e.driver.Capabilities().Isolation, Template: spec.Template})
		return c.move(session.CauseUp, "")
	})
	if err != nil {
		return fmt.Errorf("report ready: %w", err)
	}
	e.log.Info("session ready", "session_id", s.ID, "sandbox_id", spec.ID, "epoch", epoch)
	return nil
}

// plan stores the handle of the machine that is about to be started.
func (e *Engine) plan(ctx context.Context, s session.Session, spec sandbox.Spec) (sandbox.Handle, int64, error) {
	handle, err := e.driver.Plan(spec)
	if err != nil {
		return handle, 0, fmt.Errorf("plan sandbox: %w", err)
	}
	encoded, err := handle.Encode()
	if err != nil {
		return handle, 0, fmt.Errorf("encode handle: %w", err)
	}
	const epoch = 1 // of a new machine; restores count on
	sid, err := id.Parse[id.Sandbox](spec.ID)
	if err != nil {
		return handle, 0, err
	}
	err = e.change(ctx, s.ID, func(c *change) error {
		if c.s.State != session.Provisioning {
			return fmt.Errorf("session became %s before it started", c.s.State)
		}
		c.s.Sandbox, c.dirty = sid, true
		return c.tx.SaveMachine(store.Machine{Session: s.ID, Sandbox: sid, Handle: encoded, Epoch: epoch, CreatedAt: c.now})
	})
	if err != nil {
		return handle, 0, fmt.Errorf("store handle: %w", err)
	}
	return handle, epoch, nil
}

func machineSpec(s session.Session, spec environment.Spec) sandbox.Spec {
	out := sandbox.Spec{ID: id.New[id.Sandbox]().String(), Session: s.ID.String(), Hostname: hostname(s.Name), Template: spec.Template}
	for _, size := range environment.Sizes {
		if size.Slug == spec.Size {
			out.Size = sandbox.Size{Slug: size.Slug, VCPUs: size.VCPUs, MemoryMB: size.MemoryMB, DiskMB: size.DiskMB, Pids: size.Pids}
		}
	}
	return out
}

var notHostname = regexp.MustCompile(`[^a-z0-9]+`)

// hostname makes a host name of a session's name: 1–63 of [a-z0-9-].
func hostname(name string) string {
	h := notHostname.ReplaceAllString(strings.ToLower(name), "-")
	if len(h) > 63 {
		h = h[:63]
	}
	return strings.Trim(h, "-")
}

func guestConfig(s session.Session, spec environment.Spec) guestapi.Config {
	agent := guestapi.Agent{Adapter: "acp", Name: spec.Agent}
	switch spec.Agent {
	case "none":
		agent.Adapter = "none"
	case "demo":
		agent.Argv = []string{guestapi.DemoPath}
	default:
		agent.Argv = spec.Command
	}
	return guestapi.Config{Session: s.ID.String(), Hostname: hostname(s.Name), Agent: agent, Env: spec.Env}
}

// clearMachine ends and forgets whatever machine the session has.
func (e *Engine) clearMachine(ctx context.Context, a *actor) error {
	if m := a.detach(); m != nil {
		m.letGo()
	}
	row, err := e.store.Machine(ctx, a.session)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read machine: %w", err)
	}
	handle, err := sandbox.DecodeHandle(row.Handle)
	if err != nil {
		return err
	}
	if err := e.driver.Destroy(ctx, handle); err != nil {
		return fmt.Errorf("destroy sandbox: %w", err)
	}
	return e.store.Update(ctx, func(tx store.Tx) error { return tx.DeleteMachine(a.session) })
}
