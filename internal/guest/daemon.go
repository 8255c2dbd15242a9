package guest

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"paddock/internal/fault"
	"paddock/internal/guest/files"
	"paddock/internal/guest/journal"
	"paddock/internal/guest/proc"
	"paddock/internal/guestapi"
	"paddock/internal/id"
)

// Options says how a daemon is set up; Defaults has the values of a sandbox.
type Options struct {
	Adapters map[string]NewAdapter // by the word of guestapi.Agent.Adapter
	Build    string                // told to the host
	Dial     func(context.Context) (net.Conn, error)
	Secret   func() (string, error)
	Session  func() string // the session this machine belongs to; "" while it is nobody's
	// Hostname names the machine; called by every Configure, before anything is
	// started. Nil: its name stays.
	Hostname func(name string) error
	// Trust has the system trust the authority that signs for the hosts of
	// brokered secrets, where there are any, and gives variables for processes;
	// called once, before anything is started. Nil: there are none.
	Trust     func() (env map[string]string, err error)
	Workspace string
	Agent     proc.User
	Root      proc.User
	TreeGroup uint32 // supplementary group of the agent and all it starts
	// AgentTasks bounds the processes and threads of the agent's user in what
	// the agent starts, by way of Launcher (proc.Spec.Limited; none: no limit).
	// What execs start is bound by the daemon's own, higher limit, so that they
	// work beside an agent that forks without end. Only execs of root have the
	// lower one, for the daemon is root itself and has to be able to fork. 0: no
	// limit.
	AgentTasks uint64
	Launcher   []string
	Log        *slog.Logger
}

// Daemon is the guest. It implements guestapi.Guest.
type Daemon struct {
	options Options
	ctx     context.Context // the daemon's life: what outlives a call ends with it
	stop    context.CancelFunc
	work    sync.WaitGroup
	table   *proc.Table
	tree    *proc.Tree // of the agent and all it starts
	journal *journal.Journal
	files   files.Workspace
	execs   execs
	relief  *relief
	turns   turns

	unwritable unwritable

	agentPid atomic.Int64 // of the agent itself
	relieved atomic.Int64 // when Relieve last ended something, in ns since 1970

	mu      sync.Mutex
	config  *guestapi.Config
	trust   map[string]string // variables; see Options.Trust
	adapter Adapter           // nil before Configure, and for an agent "none"
}

var _ guestapi.Guest = (*Daemon)(nil)

// New makes a daemon and starts to reap. Run connects it; Close ends it.
func New(options Options) *Daemon {
	ctx, stop := context.WithCancel(context.Background())
	d := &Daemon{
		options: options, ctx: ctx, stop: stop, table: proc.NewTable(),
		journal: journal.New(guestapi.MaxJournal), files: files.Workspace{Root: options.Workspace},
	}
	d.execs = execs{daemon: d, byID: map[id.Exec]*execution{}}
	d.turns = turns{daemon: d}
	d.tree = &proc.Tree{Group: options.TreeGroup}
	d.relief = newRelief(options, d.tree)
	d.work.Go(d.janitor)
	d.work.Go(func() { d.relief.run(ctx) })
	return d
}

// Close ends the agent and every exec, and returns when nothing of the daemon
// runs any more.
func (d *Daemon) Close() {
	d.stop()
	d.execs.closeAll()
	d.mu.Lock()
	adapter := d.adapter
	d.mu.Unlock()
	if adapter != nil {
		adapter.Close()
	}
	d.work.Wait()
	d.table.Close()
}

func (d *Daemon) janitor() {
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			d.execs.expire(now)
		case <-d.ctx.Done():
			return
		}
	}
}

// Configure is part of guestapi.Guest.
func (d *Daemon) Configure(_ context.Context, config guestapi.Config) error {
	if own := d.options.Session(); own != "" && config.Session != own {
		return fault.New(fault.Conflict, "this machine belongs to session %s", own)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if name := d.options.Hostname; name != nil {
		if err := name(config.Hostname); err != nil {
			return fmt.Errorf("name the machine: %w", err)
		}
	}
	if d.config != nil {
		// A restored copy may belong to another session; its agent is the same. That
		// stays as it was started: a newer server may describe it otherwise.
		if d.config.Agent.Adapter != config.Agent.Adapter || d.config.Agent.Name != config.Agent.Name || !maps.Equal(d.config.Env, config.Env) {
			return fault.New(fault.Conflict, "this machine is set up for another agent or environment")
		}
		config.Agent = d.config.Agent
		d.config = &config
		return nil
	}
	if config.Agent.Root {
		d.tree.Apart()
	}
	if trust := d.options.Trust; trust != nil {
		env, err := trust()
		if err != nil {
			return fmt.Errorf("trust the authority of brokered secrets: %w", err)
		}
		d.trust = env
	}
	var adapter Adapter
	if word := config.Agent.Adapter; word != "none" {
		make, ok := d.options.Adapters[word]
		if !ok {
			return fault.New(fault.BadRequest, "there is no adapter %q; there are none and %v", word, slices.Sorted(maps.Keys(d.options.Adapters)))
		}
		adapter = make(config.Agent, Services{Spawn: d.spawn, Environ: d.given, Log: d.noTurnLog})
	}
	d.config, d.adapter = &config, adapter
	d.putSkills(config.Agent)
	if adapter != nil {
		adapter.Start()
	}
	return nil
}

// sessionEnv is what every process has in its environment: what the session's
// spec says goes before what we think.
func (d *Daemon) sessionEnv() map[string]string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.config == nil {
		return nil
	}
	env := map[string]string{}
	maps.Copy(env, d.trust)
	maps.Copy(env, d.config.Env)
	return env
}

// agentEnv are the variables of the agent alone.
func (d *Daemon) agentEnv() map[string]string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.config == nil {
		return nil
	}
	return d.config.Agent.Env
}

// agent gives the adapter, or says why there is none.
func (d *Daemon) agent() (Adapter, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.config == nil:
		return nil, fault.New(fault.Conflict, "the machine is not set up yet")
	case d.adapter == nil:
		return nil, fault.New(fault.Conflict, "the session has no agent")
	}
	return d.adapter, nil
}

// Prompt is part of guestapi.Guest.
func (d *Daemon) Prompt(_ context.Context, run id.Run, prompt guestapi.Prompt) error {
	adapter, err := d.agent()
	if err != nil {
		return err
	}
	return d.turns.prompt(adapter, run, prompt)
}

// Cancel is part of guestapi.Guest.
func (d *Daemon) Cancel(_ context.Context, run id.Run) (guestapi.CancelOutcome, error) {
	adapter, err := d.agent()
	if err != nil {
		return guestapi.CancelNoTurn, nil // without an agent there is no turn
	}
	return d.turns.cancel(adapter, run), nil
}

// Answer is part of guestapi.Guest.
func (d *Daemon) Answer(_ context.Context, key string, answer guestapi.Answer) error {
	switch answer.Decision {
	case guestapi.Allow, guestapi.Deny, guestapi.Cancel, guestapi.Wait:
	default:
		return fault.New(fault.BadRequest, "the decision is %q; it is allow, deny, cancel or wait", answer.Decision)
	}
	if adapter, err := d.agent(); err == nil {
		adapter.Answer(key, answer)
	}
	return nil
}

// ListFiles is part of guestapi.Guest.
func (d *Daemon) ListFiles(_ context.Context, path string) ([]guestapi.File, error) {
	return d.files.List(path)
}

// ReadFile is part of guestapi.Guest.
func (d *Daemon) ReadFile(_ context.Context, path string, offset, length int64) (guestapi.File, io.ReadCloser, error) {
	return d.files.Read(path, offset, length)
}

// Drain is part of guestapi.Guest.
func (d *Daemon) Drain(ctx context.Context) error {
	if err := d.journal.Drain(ctx); err != nil {
		return fmt.Errorf("drain journal: %w", err)
	}
	unix.Sync()
	return nil
}
