package gvisor

import (
	"context"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"gvisor.dev/gvisor/runsc/boot"

	"paddock/internal/sandbox"
)

// parts are what a machine is made of. They do not change.
type parts struct {
	handle        sandbox.Handle
	folder        folder
	control       control
	group         group
	kernel, gofer *process
	listener      *net.UnixListener
	secret        string
	full          int64 // see sandbox.Stats
}

// processes are those of kernel and gofer that are held.
func (p *parts) processes() (held []*process) {
	for _, one := range []*process{p.kernel, p.gofer} {
		if one != nil {
			held = append(held, one)
		}
	}
	return held
}

// close lets go of what there is.
func (p *parts) close() {
	if p.listener != nil {
		p.listener.Close()
	}
	letGo(p.processes())
}

// letGo collects those of the processes that have ended, and lets go of all.
func letGo(processes []*process) {
	for _, p := range processes {
		p.reap()
		p.close()
	}
}

// machine is a running machine, held by this process.
type machine struct {
	parts
	driver *Driver
	alarm  *os.File               // see oomAlarm; nil without groups
	press  *os.File               // see pressAlarm
	work   sync.WaitGroup         // the watchers
	layer  atomic.Pointer[string] // see written
	done   chan struct{}
	// pressed is MemoryAlarm; nil without press.
	pressed chan struct{}

	mu       sync.Mutex
	status   status
	exit     sandbox.Exit // set before done is closed
	expected bool         // we are ending it
	closed   bool
	oomSeen  int       // kills known at the last alarm
	oomAt    time.Time // of the last alarm
	deaf     bool      // pressed is closed
}

var _ sandbox.Machine = (*machine)(nil)

// hold makes a machine of its parts, watches it and keeps it until it is let
// go of.
func (d *Driver) hold(p parts, is status) *machine {
	m := &machine{parts: p, driver: d, status: is, done: make(chan struct{})}
	var err error
	if m.alarm, err = m.group.oomAlarm(); err != nil {
		// A machine made before this host had control groups has none.
		d.options.Logger.Warn("sandbox memory not watched", "sandbox_id", p.handle.ID, "error", err)
	}
	if m.alarm != nil {
		m.oomSeen, _ = m.group.oomKills()
		m.work.Go(m.watchMemory)
	}
	if p.full > 0 {
		m.press, _ = m.group.pressAlarm() // without it the caller looks
	}
	if m.press != nil {
		m.pressed = make(chan struct{}, 1)
		m.work.Go(m.watchPressure)
	}
	m.work.Go(m.watchEnd)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.live[p.handle.ID] = m
	return m
}

// forget lets go of a closed machine. Its processes, if they are children of
// this very process and live on, are kept in mind to be collected when the
// machine is destroyed.
func (d *Driver) forget(m *machine) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.live[m.handle.ID] == m {
		delete(d.live, m.handle.ID)
	}
	var children []*process
	for _, p := range m.processes() {
		if p.isChild() {
			children = append(children, p)
		} else {
			p.close()
		}
	}
	if len(children) > 0 {
		d.children[m.handle.ID] = append(d.children[m.handle.ID], children...)
	}
}

// collect collects the children that forget kept in mind, which have ended.
func (d *Driver) collect(id string) {
	d.mu.Lock()
	children := d.children[id]
	delete(d.children, id)
	d.mu.Unlock()
	letGo(children)
}

// Handle is part of sandbox.Machine.
func (m *machine) Handle() sandbox.Handle { return m.handle }

// Control is part of sandbox.Machine.
func (m *machine) Control() net.Listener { return m.listener }

// Secret is part of sandbox.Machine.
func (m *machine) Secret() string { return m.secret }

// Done is part of sandbox.Machine. Once the machine is let go of by Close,
// nobody watches it, and Done stays as it is.
func (m *machine) Done() <-chan struct{} { return m.done }

// Exit is part of sandbox.Machine.
func (m *machine) Exit() sandbox.Exit {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.exit
}

// Paused is part of sandbox.Machine.
func (m *machine) Paused() bool { return m.now() == paused }

// Stats is part of sandbox.Machine.
func (m *machine) Stats(context.Context) (sandbox.Stats, error) {
	read := m.group.stats
	if m.group.kind() == "" {
		read = func() (sandbox.Stats, error) { return treeStats(m.kernel.pid, m.gofer.pid) }
	}
	stats, err := read()
	if err != nil && m.ended() {
		err = sandbox.ErrGone
	}
	if err != nil {
		return stats, fmt.Errorf("read use of sandbox %s: %w", m.handle.ID, err)
	}
	if m.group.kind() != "" {
		stats.Full = m.full
	}
	stats.Disk = m.written()
	return stats, nil
}

// MemoryAlarm is part of sandbox.Machine.
func (m *machine) MemoryAlarm() <-chan struct{} { return m.pressed }

// verb is a change of a machine's status that its kernel makes.
type verb struct {
	name       string
	during, to status
	method     string
}

var (
	pauseVerb  = verb{"pause", pausing, paused, boot.ContMgrPause}
	resumeVerb = verb{"resume", resuming, running, boot.ContMgrResume}
)

// Pause is part of sandbox.Machine.
func (m *machine) Pause(ctx context.Context) error { return m.apply(ctx, pauseVerb) }

// Resume is part of sandbox.Machine.
func (m *machine) Resume(ctx context.Context) error { return m.apply(ctx, resumeVerb) }

// Continue is part of sandbox.Driver. It does not wait for its turn: a verb under
// way may be what waits for the guest.
func (d *Driver) Continue(ctx context.Context, handle sandbox.Handle) error {
	m := d.machine(handle.ID)
	if m == nil || m.ended() {
		return fmt.Errorf("continue sandbox %s: %w", handle.ID, sandbox.ErrGone)
	}
	if err := m.control.goOn(ctx); err != nil {
		return fmt.Errorf("continue sandbox %s: %w", handle.ID, err)
	}
	return nil
}

func (m *machine) apply(ctx context.Context, v verb) error {
	release, err := m.driver.turns.take(ctx, m.handle.ID)
	if err == nil {
		defer release()
		err = m.change(ctx, v)
	}
	if err == nil {
		return nil
	}
	if m.ended() || m.kernel.ended() {
		err = sandbox.ErrGone
	}
	return fmt.Errorf("%s sandbox %s: %w", v.name, m.handle.ID, err)
}

func (m *machine) change(ctx context.Context, v verb) error {
	if m.isClosed() {
		return net.ErrClosed
	}
	is, err := m.now(), error(nil)
	if is != running && is != paused { // an earlier verb was given up
		if is, err = m.control.observe(ctx, is); err != nil {
			return err
		}
		if err := m.folder.writeStatus(is); err != nil {
			return err
		}
		m.set(is)
	}
	if is == v.to {
		return nil
	}
	if err := m.folder.writeStatus(v.during); err != nil {
		return err
	}
	m.set(v.during)
	if err := m.control.tell(ctx, v); err != nil {
		return err
	}
	m.set(v.to)
	if err := m.folder.writeStatus(v.to); err != nil {
		// It is so all the same, and the word between makes Recover look.
		m.driver.options.Logger.Warn("sandbox status not written", "sandbox_id", m.handle.ID, "error", err)
	}
	return nil
}

func (m *machine) now() status {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.status
}

func (m *machine) set(s status) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.status = s
}

func (m *machine) isClosed() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.closed
}

// Close is part of sandbox.Machine.
func (m *machine) Close() error {
	m.mu.Lock()
	again := m.closed
	m.closed = true
	m.mu.Unlock()
	if again {
		return nil
	}
	m.listener.Close()
	m.kernel.interrupt()
	for _, alarm := range []*os.File{m.alarm, m.press} {
		if alarm != nil {
			alarm.Close()
		}
	}
	m.work.Wait()
	err := m.driver.options.Network.Leave(m.handle.ID)
	m.driver.forget(m)
	return wrap("leave network", err)
}
