package engine

import (
	"cmp"
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
	"paddock/internal/metrics"
	"paddock/internal/recovery"
	"paddock/internal/sandbox"
	"paddock/internal/session"
	"paddock/internal/store"
	"paddock/internal/tracing"
)

// bootDeadline is how long a session may be provisioning.
const bootDeadline = 120 * time.Second

// claimDeadline is how long a spare may take to become a session's machine, which
// is a matter of milliseconds; then another machine is started.
const claimDeadline = 10 * time.Second

// reportLead is by how much the report that a session is ready precedes its
// guest, whose first work, starting the agent, would take the processor from
// whoever waits for the report.
const reportLead = 4 * time.Millisecond

// firstEpoch is that of a new machine's guest; restores count on.
const firstEpoch = 1

// boot makes the machine of a session that is provisioning. It is a verb of the
// session's actor, and what a restarted server does with a session that it finds
// in that state.
func (e *Engine) boot(ctx context.Context, a *actor, place *place) {
	s, err := e.store.SessionByID(ctx, a.session)
	if err == nil && s.State == session.Provisioning {
		var env environment.Environment
		if env, err = e.store.Environment(ctx, s.Environment); err == nil {
			var spec environment.Spec
			if spec, err = e.unseal(env); err == nil {
				ctx, span := e.trace.Start(ctx, "create", tracing.Session(s.ID.String()), tracing.Agent(s.Adapter), tracing.Reason("taken up"))
				span.End(e.bringUp(ctx, a, place, s, spec))
				return
			}
		}
	}
	place.leave()
	if err != nil && ctx.Err() == nil {
		e.log.ErrorContext(ctx, "start sandbox", "session_id", a.session, "error", err)
		e.giveUp(ctx, a, session.CauseBootFailed, "its sandbox could not be started")
	}
}

// bringUp makes a session's machine and reports it ready, or failed. A spare in
// the place is the session's by now: its handle was stored with the session. If
// it does not answer, another machine is started. The error has been dealt with.
func (e *Engine) bringUp(ctx context.Context, a *actor, room *place, s session.Session, spec environment.Spec) error {
	defer func() { room.leave() }()
	spare := room.claimed()
	var err error
	if !s.Template.IsZero() && s.Image == "" {
		room.leave() // it starts nothing as long as it waits
		inTime, cancel := context.WithDeadline(ctx, s.Deadline)
		s, err = e.awaitImage(inTime, s)
		cancel()
		e.host.promise(startMemory, 1) // it was admitted when it was created
		room = &place{engine: e, memory: startMemory}
	}
	inTime, cancel := context.WithDeadline(ctx, s.Deadline)
	defer cancel()
	if spare != nil {
		if err = e.claim(inTime, a, s, spec, spare); err != nil && inTime.Err() == nil && !errors.Is(err, errNotStarting) {
			e.log.WarnContext(ctx, "claim spare sandbox; another is started", "session_id", s.ID, "sandbox_id", spare.id, "error", err)
			spare, err = nil, nil
		}
	}
	if spare == nil && err == nil {
		err = e.startMachine(inTime, a, s, spec, recovery.Point{})
	}
	if err == nil {
		err = e.moveIn(ctx, a, s, spec, spare != nil)
	}
	if err == nil || ctx.Err() != nil || errors.Is(err, errNotStarting) {
		return err // ready; or the server stops, and the next one goes on here; or it is being removed, which frees all
	}
	e.metrics.Verb(metrics.Create, e.now().Sub(s.CreatedAt), err)
	e.log.ErrorContext(ctx, "start sandbox", "session_id", s.ID, "error", err)
	why := "its sandbox could not be started"
	var f *fault.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		why = fmt.Sprintf("its sandbox was not up within %s", bootDeadline)
	case errors.As(err, &f):
		why = f.Message
	}
	e.giveUp(ctx, a, session.CauseBootFailed, why)
	return err
}

// errNotStarting says that a session is not provisioning any more.
var errNotStarting = errors.New("session is not starting any more")

// moveIn puts into a new session's machine what it is to have from the first, and
// reports it ready. The guest of one that was a spare has been waiting since that
// was made, and is welcomed afterwards where nothing is to be done: what it does
// then, starting the agent first of all, would delay the report.
func (e *Engine) moveIn(ctx context.Context, a *actor, s session.Session, spec environment.Spec, waits bool) error {
	m := a.attached()
	if len(spec.Repos) > 0 {
		if waits {
			m.admit()
		}
		if err := e.cloneAll(ctx, m, spec); err != nil {
			return err
		}
	}
	err := e.reportReady(ctx, s, rootName(spec), recovery.Point{})
	failpoint.Hit("boot.reported")
	if waits && len(spec.Repos) == 0 {
		time.AfterFunc(reportLead, m.admit)
	}
	return err
}

// claim makes the spare the session's machine. Its guest waits for admit.
func (e *Engine) claim(ctx context.Context, a *actor, s session.Session, spec environment.Spec, spare *spare) (err error) {
	ctx, span := e.trace.Start(ctx, "claim", tracing.Session(s.ID.String()), tracing.Sandbox(spare.id.String()))
	defer func() { span.End(err) }()
	ctx, cancel := context.WithTimeout(ctx, claimDeadline)
	defer cancel()
	if err := spare.box.Claim(ctx, sandbox.Identity{Session: s.ID.String(), Hostname: hostname(s.Name)}, egressOf(spec), brokered(spec)); err != nil {
		spare.letGo()
		return err
	}
	failpoint.Hit("boot.claimed")
	select {
	case <-spare.box.Done():
		spare.letGo()
		return errSandboxLost
	default:
	}
	a.attach(e.hold(s, spare.box, guestConfig(s, e.withImage(s, spec)), e.now(), spare.caller))
	return nil
}

// startMachine starts a machine for the session, with the files of a point if one
// is given, and waits for its guest.
func (e *Engine) startMachine(ctx context.Context, a *actor, s session.Session, env environment.Spec, from recovery.Point) (err error) {
	ctx, span := e.trace.Start(ctx, "boot", tracing.Session(s.ID.String()))
	defer func() { span.End(err) }()
	if err := e.clearMachine(ctx, a); err != nil {
		return fmt.Errorf("clear what an earlier start left: %w", err)
	}
	spec := machineSpec(s, env)
	spec.Files = from.Folder
	span.Note(tracing.Sandbox(spec.ID))
	handle, err := e.plan(ctx, s, spec)
	if err != nil {
		return err
	}
	failpoint.Hit("boot.planned")
	box, err := e.driver.Start(ctx, handle, spec)
	if err != nil {
		return fmt.Errorf("start sandbox: %w", err)
	}
	failpoint.Hit("boot.started")
	m := e.hold(s, box, guestConfig(s, e.withImage(s, env)), e.now(), nil)
	a.attach(m)
	if err := m.waitUp(ctx); err != nil {
		return fmt.Errorf("wait for guest: %w", err)
	}
	return nil
}

// upCauses are the causes by which a session whose machine was started is ready.
var upCauses = map[session.State]session.Cause{
	session.Provisioning: session.CauseUp, session.Updating: session.CauseRecovered, session.Paused: session.CauseResume,
}

// reportReady says that the machine is up that was started for a session in the
// state of s, with the files of a point if one is given.
func (e *Engine) reportReady(ctx context.Context, s session.Session, template string, from recovery.Point) error {
	var sandbox id.Sandbox
	var created time.Time
	err := e.change(ctx, s.ID, func(c *change) error {
		if c.s.State != s.State {
			return errNotStarting
		}
		sandbox, created = c.s.Sandbox, c.s.CreatedAt
		c.emit(id.Run{}, event.SandboxAllocated, event.Allocated{SandboxID: sandbox.String(), Kind: e.driver.Capabilities().Isolation, Template: template})
		if from == (recovery.Point{}) {
			return c.move(upCauses[s.State], "")
		}
		return e.reportRestored(c, upCauses[s.State], from)
	})
	if err != nil {
		return fmt.Errorf("report ready: %w", err)
	}
	if s.State == session.Provisioning {
		e.metrics.Verb(metrics.Create, e.now().Sub(created), nil)
	}
	e.log.InfoContext(ctx, "session ready", "session_id", s.ID, "sandbox_id", sandbox)
	return nil
}

// plan stores the handle of the machine that is about to be started.
func (e *Engine) plan(ctx context.Context, s session.Session, spec sandbox.Spec) (sandbox.Handle, error) {
	handle, err := e.driver.Plan(spec)
	if err != nil {
		return handle, fmt.Errorf("plan sandbox: %w", err)
	}
	encoded, err := handle.Encode()
	if err != nil {
		return handle, fmt.Errorf("encode handle: %w", err)
	}
	sid, err := id.Parse[id.Sandbox](spec.ID)
	if err != nil {
		return handle, err
	}
	err = e.change(ctx, s.ID, func(c *change) error {
		if c.s.State != s.State {
			return errNotStarting
		}
		c.s.Sandbox, c.dirty = sid, true
		return c.tx.SaveMachine(store.Machine{Session: s.ID, Sandbox: sid, Handle: encoded, Epoch: firstEpoch, CreatedAt: c.now})
	})
	if err != nil {
		return handle, fmt.Errorf("store handle: %w", err)
	}
	return handle, nil
}

func machineSpec(s session.Session, spec environment.Spec) sandbox.Spec {
	k := kindOf(spec)
	if s.Image != "" {
		k.template = s.Image
	}
	return sandbox.Spec{ID: id.New[id.Sandbox]().String(), Session: s.ID.String(), Hostname: hostname(s.Name), Template: k.template, Size: k.size, Egress: egressOf(spec), Secrets: brokered(spec)}
}

// kindOf is the kind of machine that a spec asks for.
func kindOf(spec environment.Spec) kind {
	k := kind{template: spec.Template}
	if size, ok := environment.FindSize(spec.Size); ok {
		k.size = sandbox.Size{Slug: size.Slug, VCPUs: size.VCPUs, MemoryMB: size.MemoryMB, DiskMB: size.DiskMB, Pids: size.Pids}
	}
	return k
}

// rootName is what a spec calls the root of its machine.
func rootName(spec environment.Spec) string { return cmp.Or(spec.Image, spec.Template) }

// standardKind is that of a spec which does not say.
func standardKind() kind {
	return kindOf(environment.Spec{Template: environment.DefaultTemplate, Size: environment.DefaultSize})
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
	agent := agentOf(s, spec)
	if f := spec.Permissions.Filesystem; f.Restricts() {
		folders, allowed := f.Writable(guestapi.Workspace, agentHome(spec))
		agent.Confined = &guestapi.Confined{Folders: folders, Allowed: allowed}
	}
	agent.Root = spec.RunAs == environment.AsRoot
	for _, t := range spec.Tools {
		agent.Tools = append(agent.Tools, guestapi.Tool(t))
	}
	if dir := skillsDir(spec); dir != "" {
		for _, k := range spec.Skills {
			agent.Skills, agent.SkillsDir = append(agent.Skills, guestapi.Skill(k)), dir
		}
	}
	return guestapi.Config{Session: s.ID.String(), Hostname: hostname(s.Name), Agent: agent, Env: withGitHelpers(spec)}
}

// agentHome is the home of the agent's user.
func agentHome(spec environment.Spec) string {
	if spec.RunAs == environment.AsRoot {
		return guestapi.RootHome
	}
	return guestapi.AgentHome
}

// agentUser names the agent's user.
func agentUser(spec environment.Spec) string {
	if spec.RunAs == environment.AsRoot {
		return "root"
	}
	return guestapi.AgentUser
}

// clearMachine ends and forgets whatever machine the session has, or had.
func (e *Engine) clearMachine(ctx context.Context, a *actor) error {
	if err := e.clearLost(ctx, a); err != nil {
		return err
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
