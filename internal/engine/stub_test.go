package engine

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"paddock/internal/event"
	"paddock/internal/guestapi"
	"paddock/internal/id"
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
		roused: make(chan struct{}, 1),
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

func (d *stubDriver) Recover(_ context.Context, h sandbox.Handle, _ []sandbox.Brokered) (sandbox.Machine, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	m := d.machines[h.ID]
	if m == nil {
		return nil, sandbox.ErrGone
	}
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
	owner     sandbox.Identity
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
func (m *stubMachine) Claim(_ context.Context, who sandbox.Identity, _ sandbox.Egress, _ []sandbox.Brokered) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.failClaim; err != nil {
		m.failClaim = nil
		return err
	}
	m.owner = who
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

// stubGuest speaks the real guest protocol and does what the test says: prompts
// and answers are handed to the test, which reports as it likes.
type stubGuest struct {
	machine *stubMachine
	cancel  context.CancelFunc
	wg      sync.WaitGroup
	prompts chan id.Run
	answers chan guestapi.Answer
	cancels chan id.Run

	mu        sync.Mutex
	onCancel  func()                                                          // called by the next Cancel
	onExec    func(ctx context.Context) (guestapi.ExecProgress, error)        // answers StartExec and PollExec
	onRead    func(ctx context.Context) (guestapi.File, io.ReadCloser, error) // answers ReadFile
	onDrain   func(ctx context.Context) error                                 // answers Drain
	onRelieve func(need int64) int                                            // answers Relieve
	away      bool                                                            // it does not dial
	seen      map[id.Run]bool
	ended     map[id.Run]bool
	up        *guestapi.Uplink
	epoch     int64
	n         int64
}

func newStubGuest(m *stubMachine, silent bool) *stubGuest {
	ctx, cancel := context.WithCancel(context.Background())
	g := &stubGuest{machine: m, cancel: cancel, seen: map[id.Run]bool{}, ended: map[id.Run]bool{},
		prompts: make(chan id.Run, 100), answers: make(chan guestapi.Answer, 100), cancels: make(chan id.Run, 100)}
	if !silent {
		g.wg.Go(func() { g.keepDialling(ctx) })
	}
	return g
}

func (g *stubGuest) stop() { g.cancel(); g.wg.Wait() }

func (g *stubGuest) keepDialling(ctx context.Context) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		if conn, err := net.Dial("unix", g.machine.socket); err == nil && !g.isAway() {
			g.mu.Lock()
			hello := guestapi.Hello{Version: guestapi.Version, Oldest: guestapi.OldestVersion, Secret: g.machine.Secret(), Epoch: g.epoch}
			g.mu.Unlock()
			if up, err := guestapi.Dial(ctx, conn, hello, g); err == nil {
				g.mu.Lock()
				g.up, g.epoch, g.n = up, up.Welcome().Epoch, up.Welcome().Ack
				g.mu.Unlock()
				select {
				case <-up.Done():
				case <-ctx.Done():
					_ = up.Close()
				}
			}
		} else if err == nil {
			_ = conn.Close()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

func (g *stubGuest) isAway() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.away
}

// stayAway takes the connection down and lets none come, or lets it come again.
func (g *stubGuest) stayAway(away bool) {
	g.mu.Lock()
	up := g.up
	g.away = away
	g.mu.Unlock()
	if away && up != nil {
		_ = up.Close()
	}
}

// report hands one report over, again and again until it is acknowledged.
func (g *stubGuest) report(t *testing.T, run id.Run, kind guestapi.ReportType, of event.Kind, data any) {
	t.Helper()
	b, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "a report is acknowledged", func() bool {
		g.mu.Lock()
		up, epoch, n := g.up, g.epoch, g.n+1
		g.mu.Unlock()
		if up == nil {
			return false
		}
		ack, err := up.Report(context.Background(), guestapi.Batch{Epoch: epoch, Reports: []guestapi.Report{{N: n, Run: run.String(), Type: kind, Kind: of, Data: b}}})
		if err != nil || ack.N != n {
			return false
		}
		g.mu.Lock()
		g.n = n
		g.mu.Unlock()
		return true
	})
}

func (g *stubGuest) say(t *testing.T, run id.Run, text string) {
	t.Helper()
	g.report(t, run, guestapi.ReportEvent, event.TokenDelta, event.Delta{Text: text})
}

func (g *stubGuest) endTurn(t *testing.T, run id.Run, end guestapi.End) {
	t.Helper()
	g.mu.Lock()
	g.ended[run] = true
	g.mu.Unlock()
	g.report(t, run, guestapi.ReportEnd, "", end)
}

func (g *stubGuest) Configure(context.Context, guestapi.Config) error { return nil }

func (g *stubGuest) Prompt(_ context.Context, run id.Run, _ guestapi.Prompt) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.seen[run] {
		g.seen[run] = true
		g.prompts <- run
	}
	return nil
}

func (g *stubGuest) Cancel(_ context.Context, run id.Run) (guestapi.CancelOutcome, error) {
	g.mu.Lock()
	then := g.onCancel
	g.onCancel = nil
	g.mu.Unlock()
	if then != nil {
		then()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cancels <- run
	switch {
	case g.ended[run]:
		return guestapi.CancelEnded, nil
	case !g.seen[run]:
		g.seen[run] = true // its prompt starts nothing
		return guestapi.CancelNoTurn, nil
	}
	return guestapi.CancelAcked, nil
}

func (g *stubGuest) Answer(_ context.Context, _ string, a guestapi.Answer) error {
	g.answers <- a
	return nil
}

var errNoExec = errors.New("the stub runs no programs")

func (g *stubGuest) StartExec(ctx context.Context, _ id.Exec, _ guestapi.ExecRequest, _ time.Duration) (guestapi.ExecProgress, error) {
	g.mu.Lock()
	do := g.onExec
	g.mu.Unlock()
	if do == nil {
		return guestapi.ExecProgress{}, errNoExec
	}
	return do(ctx)
}
func (g *stubGuest) PollExec(ctx context.Context, exec id.Exec, _, _ int64, wait time.Duration) (guestapi.ExecProgress, error) {
	return g.StartExec(ctx, exec, guestapi.ExecRequest{}, wait)
}
func (g *stubGuest) EndExec(context.Context, id.Exec) error { return nil }
func (g *stubGuest) ListFiles(context.Context, string) ([]guestapi.File, error) {
	return []guestapi.File{}, nil
}
func (g *stubGuest) ReadFile(ctx context.Context, _ string, _, _ int64) (guestapi.File, io.ReadCloser, error) {
	g.mu.Lock()
	do := g.onRead
	g.mu.Unlock()
	if do == nil {
		return guestapi.File{}, nil, errNoExec
	}
	return do(ctx)
}

// setRead changes what ReadFile does while the guest is in use.
func (g *stubGuest) setRead(do func(context.Context) (guestapi.File, io.ReadCloser, error)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.onRead = do
}

func (g *stubGuest) Relieve(_ context.Context, need int64) (int, error) {
	g.mu.Lock()
	do := g.onRelieve
	g.mu.Unlock()
	if do == nil {
		return 0, nil
	}
	return do(need), nil
}

func (g *stubGuest) Drain(ctx context.Context) error {
	g.mu.Lock()
	do := g.onDrain
	g.mu.Unlock()
	if do == nil {
		return nil
	}
	return do(ctx)
}
