package guest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"paddock/internal/event"
	"paddock/internal/fault"
	"paddock/internal/guest"
	"paddock/internal/guest/adapter/acp"
	"paddock/internal/guest/adapter/claude"
	"paddock/internal/guest/proc"
	"paddock/internal/guestapi"
	"paddock/internal/id"
)

// patience bounds every wait for something that should come at once.
const patience = 20 * time.Second

// demoAgent is the demo agent's program, built by TestMain. Where there is no Go
// (these tests also run inside a sandbox, by hand) its path comes from
// PADDOCK_TEST_DEMO_AGENT.
var demoAgent string

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == scriptedWord {
		playScript(os.Args[2])
		return
	}
	dir, err := os.MkdirTemp("", "paddock-guest-test-")
	if err != nil {
		panic(err)
	}
	if demoAgent = os.Getenv("PADDOCK_TEST_DEMO_AGENT"); demoAgent == "" {
		demoAgent = filepath.Join(dir, "paddock-demo-agent")
		build := exec.Command("go", "build", "-o", demoAgent, "paddock/cmd/paddock-demo-agent")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			panic(fmt.Sprintf("%v: %s", err, out))
		}
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil { // as pid 1 has it
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(dir)
		os.Exit(code)
	}))
}

// machine is a daemon and the host that it reports to. The host keeps reports
// as the real one does: by number, each once.
type machine struct {
	t         testing.TB
	patience  time.Duration
	daemon    *guest.Daemon
	workspace string
	listener  net.Listener
	stop      context.CancelFunc
	work      sync.WaitGroup

	mu       sync.Mutex
	changed  chan struct{}
	link     *guestapi.Link
	epoch    int64
	last     int64
	hostname string // that the daemon gave the machine
	reports  []guestapi.Report
	refusals int     // batches to refuse before they are stored
	active   *string // told in the welcome
}

const secret = "the secret of the machine"

func newMachine(t testing.TB, change ...func(*guest.Options)) *machine {
	t.Helper()
	base := t.TempDir()
	m := &machine{t: t, patience: patience, workspace: filepath.Join(base, "workspace"), changed: make(chan struct{}), epoch: 1}
	if err := os.Mkdir(m.workspace, 0o755); err != nil {
		t.Fatal(err)
	}
	var err error
	if m.listener, err = net.Listen("unix", filepath.Join(base, "host.sock")); err != nil {
		t.Fatal(err)
	}
	user := proc.User{Name: "agent", Home: base, UID: uint32(os.Getuid()), GID: uint32(os.Getgid())}
	options := guest.Defaults("test", 0, map[string]guest.NewAdapter{"acp": acp.New, "claude": claude.New})
	options.Dial = func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", m.listener.Addr().String())
	}
	options.Secret = func() (string, error) { return secret, nil }
	options.Session = func() string { return "" }
	options.Hostname = func(name string) error { m.change(func() { m.hostname = name }); return nil }
	options.Workspace, options.Agent, options.Launcher = m.workspace, user, nil
	options.TreeGroup += 1 + uint32(os.Getpid()) // another run of these tests is no part of this one's tree
	for _, f := range change {
		f(&options)
	}
	m.daemon = guest.New(options)
	ctx, stop := context.WithCancel(context.Background())
	m.stop = stop
	m.work.Go(m.accept)
	m.work.Go(func() { m.daemon.Run(ctx) })
	t.Cleanup(m.close)
	return m
}

func (m *machine) close() {
	m.stop()
	m.listener.Close()
	m.mu.Lock()
	link := m.link
	m.mu.Unlock()
	if link != nil {
		link.Close()
	}
	m.work.Wait()
	m.daemon.Close()
}

func (m *machine) accept() {
	for {
		conn, err := m.listener.Accept()
		if err != nil {
			return
		}
		link, err := guestapi.Accept(context.Background(), conn, secret, m.greet, m)
		if err != nil {
			continue
		}
		m.change(func() { m.link = link })
	}
}

func (m *machine) greet(guestapi.Hello) guestapi.Welcome {
	m.mu.Lock()
	defer m.mu.Unlock()
	return guestapi.Welcome{Epoch: m.epoch, Ack: m.last, Active: m.active}
}

// Report implements guestapi.Host.
func (m *machine) Report(_ context.Context, b guestapi.Batch) (ack guestapi.Ack, err error) {
	m.change(func() {
		if m.refusals > 0 {
			m.refusals--
			err = fault.New(fault.Unavailable, "not now")
			return
		}
		for _, r := range b.Reports {
			if r.N <= m.last {
				continue
			}
			if b.Epoch != m.epoch || r.N != m.last+1 {
				err = fault.New(fault.Conflict, "%d/%d after %d/%d", b.Epoch, r.N, m.epoch, m.last)
				return
			}
			m.last = r.N
			m.reports = append(m.reports, r)
		}
		ack = guestapi.Ack{Epoch: m.epoch, N: m.last}
	})
	return ack, err
}

// change does f under the lock and wakes whoever waits for a condition.
func (m *machine) change(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
	close(m.changed)
	m.changed = make(chan struct{})
}

// await waits until cond, called under the lock, is true.
func (m *machine) await(what string, cond func() bool) {
	m.t.Helper()
	deadline := time.After(m.patience)
	for {
		m.mu.Lock()
		ok, changed := cond(), m.changed
		m.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			m.t.Fatalf("no %s within %v; reports:\n%s", what, m.patience, m.history())
		}
	}
}

func (m *machine) history() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var b strings.Builder
	for _, r := range m.reports {
		fmt.Fprintf(&b, "%d %s %s %.300s\n", r.N, r.Type, r.Kind, r.Data)
	}
	return b.String()
}

// guest gives the connection, once there is one.
func (m *machine) guest() *guestapi.Link {
	m.t.Helper()
	m.await("connection", func() bool { return m.link != nil })
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.link
}

func (m *machine) ctx() context.Context { return m.t.Context() }

// demo sets the machine up for the demo agent.
func (m *machine) demo() *machine {
	m.t.Helper()
	m.custom(demoAgent)
	return m
}

func (m *machine) custom(argv ...string) {
	m.t.Helper()
	m.agent(guestapi.Agent{Adapter: "acp", Name: "demo", Argv: argv})
}

// agent sets the machine up for an agent.
func (m *machine) agent(agent guestapi.Agent) {
	m.t.Helper()
	agent.Dir = m.workspace
	if err := m.guest().Configure(m.ctx(), guestapi.Config{Session: "s", Agent: agent}); err != nil {
		m.t.Fatal(err)
	}
}

// prompt starts a turn.
func (m *machine) prompt(text string) id.Run {
	m.t.Helper()
	run := id.New[id.Run]()
	if err := m.guest().Prompt(m.ctx(), run, guestapi.Prompt{Text: text}); err != nil {
		m.t.Fatal(err)
	}
	return run
}

// turn plays a whole turn.
func (m *machine) turn(text string) guestapi.End {
	m.t.Helper()
	return m.end(m.prompt(text))
}

// end waits for the end of a run.
func (m *machine) end(run id.Run) (end guestapi.End) {
	m.t.Helper()
	m.await("end of "+run.String(), func() bool { return m.find(run, guestapi.ReportEnd, "", &end) })
	return end
}

// find decodes the last report of a run and type (and kind). Locked.
func (m *machine) find(run id.Run, typ guestapi.ReportType, kind event.Kind, into any) bool {
	for i := len(m.reports) - 1; i >= 0; i-- {
		if r := m.reports[i]; r.Run == run.String() && r.Type == typ && r.Kind == kind {
			if err := json.Unmarshal(r.Data, into); err != nil {
				panic(err)
			}
			return true
		}
	}
	return false
}

// ask waits for a question of the run.
func (m *machine) ask(run id.Run) (ask guestapi.Ask) {
	m.t.Helper()
	m.await("ask of "+run.String(), func() bool { return m.find(run, guestapi.ReportAsk, "", &ask) })
	return ask
}

// asks waits until a run has asked n questions.
func (m *machine) asks(run id.Run, n int) (asks []guestapi.Ask) {
	m.t.Helper()
	m.await("asks of "+run.String(), func() bool {
		asks = nil
		for _, r := range m.reports {
			var ask guestapi.Ask
			if r.Run == run.String() && r.Type == guestapi.ReportAsk && json.Unmarshal(r.Data, &ask) == nil {
				asks = append(asks, ask)
			}
		}
		return len(asks) == n
	})
	return asks
}

func (m *machine) answer(key string, answer guestapi.Answer) {
	m.t.Helper()
	if err := m.guest().Answer(m.ctx(), key, answer); err != nil {
		m.t.Fatal(err)
	}
}

// text is what the agent said in a run.
func (m *machine) text(run id.Run) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var b strings.Builder
	for _, r := range m.reports {
		var d event.Delta
		if r.Run == run.String() && r.Kind == event.TokenDelta && json.Unmarshal(r.Data, &d) == nil && !d.IsReasoning {
			b.WriteString(d.Text)
		}
	}
	return b.String()
}

// exec runs a shell script to its end.
func (m *machine) exec(script string) (stdout, stderr string, exit guestapi.ExecExit) {
	m.t.Helper()
	return m.run(guestapi.ExecRequest{Argv: []string{"/bin/sh", "-c", script}, Timeout: patience})
}

func (m *machine) run(request guestapi.ExecRequest) (stdout, stderr string, exit guestapi.ExecExit) {
	m.t.Helper()
	key := id.New[id.Exec]()
	p, err := m.guest().StartExec(m.ctx(), key, request, patience)
	var out, errs strings.Builder
	for {
		if err != nil {
			m.t.Fatal(err)
		}
		out.Write(p.Stdout)
		errs.Write(p.Stderr)
		if p.Done() {
			break
		}
		p, err = m.guest().PollExec(m.ctx(), key, int64(out.Len()), int64(errs.Len()), patience)
	}
	if err := m.guest().EndExec(m.ctx(), key); err != nil {
		m.t.Fatal(err)
	}
	return out.String(), errs.String(), *p.Exit
}
