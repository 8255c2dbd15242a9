package engine

import (
	"context"
	"net"
	"path/filepath"
	"sync"
	"testing"

	"paddock/internal/sandbox"
)

// stubDriver stands in for a sandbox driver where the real one cannot run: under
// the race detector, which needs cgo. Its machines are a socket and a stubGuest
// in this process. The real driver is tested in its own package and in e2e.
type stubDriver struct {
	dir string

	mu        sync.Mutex
	machines  map[string]*stubMachine
	onDestroy func(ctx context.Context) error // before a Destroy, which fails with its error
	silent    bool                            // guests of machines started from now on never call
	fail      error                           // of the next Start
	stats     sandbox.Stats                   // of machines started from now on
	mute      bool                            // they have no MemoryAlarm
	hang      chan struct{}                   // the next Start closes it and goes on only when it is given up
}

func newStubDriver(t *testing.T) *stubDriver {
	d := &stubDriver{dir: t.TempDir(), machines: map[string]*stubMachine{}}
	t.Cleanup(func() {
		for _, m := range d.machines {
			m.end("test over")
		}
	})
	return d
}

func (d *stubDriver) Name() string { return "stub" }

func (d *stubDriver) Capabilities() sandbox.Capabilities {
	return sandbox.Capabilities{Isolation: "stub", Pause: true, Files: true}
}

func (d *stubDriver) Plan(spec sandbox.Spec) (sandbox.Handle, error) {
	return sandbox.Handle{Version: 1, Driver: "stub", ID: spec.ID}, nil
}

func (d *stubDriver) Start(ctx context.Context, h sandbox.Handle, spec sandbox.Spec) (sandbox.Machine, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.hang != nil {
		close(d.hang)
		d.hang = nil
		d.mu.Unlock()
		<-ctx.Done()
		d.mu.Lock()
		return nil, ctx.Err()
	}
	if err := d.fail; err != nil {
		d.fail = nil
		return nil, err
	}
	m := &stubMachine{
		handle: h, socket: filepath.Join(d.dir, h.ID[len(h.ID)-8:]), done: make(chan struct{}), stats: d.stats, alarm: make(chan struct{}, 1),
		roused: make(chan struct{}, 1), session: spec.Session, rules: spec.Egress, secrets: spec.Secrets,
	}
	if d.mute {
		m.alarm = nil
	}
	if spec.Files != "" {
		if err := m.load(spec.Files); err != nil {
			return nil, err
		}
	}
	if err := m.listen(); err != nil {
		return nil, err
	}
	d.machines[h.ID] = m
	m.guest = newStubGuest(m, d.silent)
	return m, nil
}

func (d *stubDriver) Recover(_ context.Context, h sandbox.Handle, secrets []sandbox.Brokered) (sandbox.Machine, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	m := d.machines[h.ID]
	if m == nil {
		return nil, sandbox.ErrGone
	}
	m.mu.Lock()
	m.secrets = secrets
	m.mu.Unlock()
	return m, m.listen()
}

func (d *stubDriver) Destroy(ctx context.Context, h sandbox.Handle) error {
	d.mu.Lock()
	if do := d.onDestroy; do != nil {
		d.mu.Unlock()
		if err := do(ctx); err != nil {
			return err
		}
		d.mu.Lock()
	}
	m := d.machines[h.ID]
	delete(d.machines, h.ID)
	d.mu.Unlock()
	if m != nil {
		m.end("destroyed")
	}
	return nil
}

func (d *stubDriver) Continue(_ context.Context, h sandbox.Handle) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if m := d.machines[h.ID]; m != nil {
		select {
		case m.roused <- struct{}{}:
		default:
		}
	}
	return nil
}

func (d *stubDriver) Leftovers(context.Context) ([]sandbox.Handle, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []sandbox.Handle
	for _, m := range d.machines {
		all = append(all, m.handle)
	}
	return all, nil
}

// set says what is done before each Destroy.
func (d *stubDriver) set(onDestroy func(ctx context.Context) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.onDestroy = onDestroy
}

// only gives the one machine there is.
func (d *stubDriver) only(t *testing.T) *stubMachine {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.machines) != 1 {
		t.Fatalf("there are %d machines", len(d.machines))
	}
	for _, m := range d.machines {
		return m
	}
	return nil
}

// machine gives that of a session.
func (d *stubDriver) machine(t *testing.T, v View) *stubMachine {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, m := range d.machines {
		if m.session == v.ID.String() || m.owner.Session == v.ID.String() {
			return m
		}
	}
	t.Fatalf("session %s has no machine", v.Name)
	return nil
}

type stubMachine struct {
	stubFiles
	handle sandbox.Handle
	socket string
	guest  *stubGuest
	done   chan struct{}
	once   sync.Once
	exit   sandbox.Exit

	mu        sync.Mutex
	listener  net.Listener
	session   string
	owner     sandbox.Identity
	rules     sandbox.Egress
	secrets   []sandbox.Brokered
	paused    bool
	pauses    int
	onPause   func()       // called once, after the next freeze
	failing   error        // of the next freeze
	onResume  func() error // instead of the next thaw
	failClaim error        // of the next claim
	stats     sandbox.Stats
	looks     int // how often stats were read
	alarm     chan struct{}
	roused    chan struct{} // by Continue
}

func (m *stubMachine) listen() error {
	l, err := net.Listen("unix", m.socket)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.listener = l
	return err
}

func (m *stubMachine) end(why string) {
	m.once.Do(func() {
		m.exit = sandbox.Exit{Reason: why}
		close(m.done)
		m.guest.stop()
		_ = m.Close()
	})
}

func (m *stubMachine) Handle() sandbox.Handle { return m.handle }
func (m *stubMachine) Control() net.Listener {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.listener
}
func (m *stubMachine) Secret() string { return "secret of " + m.handle.ID }
func (m *stubMachine) Claim(_ context.Context, who sandbox.Identity, rules sandbox.Egress, secrets []sandbox.Brokered) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.failClaim; err != nil {
		m.failClaim = nil
		return err
	}
	m.owner, m.rules, m.secrets = who, rules, secrets
	return nil
}
func (m *stubMachine) set(paused bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.paused = paused
	m.pauses++
	return nil
}
func (m *stubMachine) Pause(context.Context) error {
	err := m.set(true)
	m.mu.Lock()
	then := m.onPause
	m.onPause = nil
	if m.failing != nil {
		err, m.failing = m.failing, nil
	}
	m.mu.Unlock()
	if then != nil {
		then()
	}
	return err
}
func (m *stubMachine) failPause(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failing = err
}
func (m *stubMachine) Resume(context.Context) error {
	m.mu.Lock()
	instead := m.onResume
	m.onResume = nil
	m.mu.Unlock()
	if instead != nil {
		return instead()
	}
	return m.set(false)
}
func (m *stubMachine) Paused() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.paused
}
func (m *stubMachine) Stats(context.Context) (sandbox.Stats, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.looks++
	return m.stats, nil
}
func (m *stubMachine) MemoryAlarm() <-chan struct{} { return m.alarm }
func (m *stubMachine) Done() <-chan struct{}        { return m.done }
func (m *stubMachine) Exit() sandbox.Exit           { return m.exit }

// use says what Stats gives from now on, and how often they were read so far.
func (m *stubMachine) use(stats sandbox.Stats) (looks int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stats = stats
	return m.looks
}
func (m *stubMachine) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.listener.Close()
}
