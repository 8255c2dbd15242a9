package engine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"paddock/internal/fault"
	"paddock/internal/guestapi"
	"paddock/internal/id"
	"paddock/internal/sandbox"
	"paddock/internal/session"
)

// linkPatience is how long a machine call waits for a guest that does not hold
// its control connection at the moment; a guest dials again within 200 ms.
const linkPatience = 30 * time.Second

// errSandboxLost is what a machine call gets when the machine ends under it.
var errSandboxLost = fault.New(fault.BadGateway, "sandbox lost")

// endKnown is how long after a machine's end the driver may take to say so.
const endKnown = time.Second

// errAway is what a machine call gets whose guest holds no connection.
var errAway = fault.New(fault.BadGateway, "the sandbox does not answer; its guest has not called for %s", linkPatience)

// machine is the running machine of one session, as the engine holds it: the
// driver's machine, and the control connection to its guest.
type machine struct {
	engine  *Engine
	session id.Session
	box     sandbox.Machine
	config  guestapi.Config
	started time.Time
	quiet   time.Duration // idle timeout; 0 means never

	wg   sync.WaitGroup
	gone chan struct{} // closed by letGo: the engine does not want it any more
	once sync.Once
	up   chan struct{} // closed once its guest has shown itself for the first time
	let  chan struct{} // closed by admit

	mu      sync.Mutex // guards what follows
	link    *guestapi.Link
	linked  chan struct{} // closed while link is usable; replaced when it is lost
	rest    rest          // whether it is frozen
	thawed  time.Time     // when it last ceased to be
	holds   int           // machine calls under way
	active  time.Time     // last activity
	stored  time.Time     // last activity as the store knows it
	idleAsk time.Time     // when it was last asked to pause for being idle
	runEnds time.Time     // deadline of the running run; zero when none runs
	listen  time.Time     // when to look whether the running run is silent
	show    time.Time     // when to show what is held back of the run's text; zero when nothing is
	lost    time.Time     // since when there is no link
	kills   hostKills
	asking  bool // it is being found out whether its guest lives
	saving  saving

	meter meter
	calls toolCalls
}

// hold takes a started machine and begins to accept its guest. One that has said
// hello already is the caller, who waits for admit; nil when none has.
func (e *Engine) hold(s session.Session, box sandbox.Machine, config guestapi.Config, started time.Time, caller *guestapi.Caller) *machine {
	m := &machine{
		engine: e, session: s.ID, box: box, config: config, started: started,
		gone: make(chan struct{}), up: make(chan struct{}), let: make(chan struct{}), linked: make(chan struct{}),
	}
	m.active, m.stored = lastActivity(s, e.now())
	m.lost, m.kills.seen = e.now(), -1
	m.saving.saved, m.saving.look = e.savedAt(s, started), e.now().Add(e.saveEvery)
	if box.Paused() {
		m.rest = frozen
	}
	if !s.KeepWarm {
		m.quiet = s.IdleTimeout
	}
	if caller != nil {
		m.wg.Go(func() { m.receive(caller) })
	}
	m.wg.Go(m.accept)
	m.wg.Go(m.watchMemory)
	e.crew.start(m.watch)
	return m
}

// admit lets in the caller that the machine was taken with.
func (m *machine) admit() { close(m.let) }

// receive welcomes the caller as soon as it may come in.
func (m *machine) receive(caller *guestapi.Caller) {
	select {
	case <-m.let:
		m.welcome(caller)
	case <-m.gone:
		_ = caller.Close()
	}
}

// letGo closes the connection and every watcher; the machine itself runs on.
// Again is no error.
func (m *machine) letGo() {
	m.once.Do(func() {
		close(m.gone)
		_ = m.box.Close()
		m.mu.Lock()
		link := m.link
		m.mu.Unlock()
		if link != nil {
			_ = link.Close()
		}
		m.wg.Wait()
		m.saving.turn.Lock() // a save under way ends
		defer m.saving.turn.Unlock()
	})
}

// watch waits for the machine's end and tells the engine; when the engine stops
// it lets the machine go.
func (m *machine) watch() {
	select {
	case <-m.gone:
	case <-m.engine.ctx.Done():
		m.letGo()
	case <-m.box.Done():
		m.engine.machineEnded(m)
	}
}

// acceptRetry is how long accept waits after an error that may pass, such as a
// lack of file descriptors.
const acceptRetry = 100 * time.Millisecond

// accept takes the guest's connections until the listener is closed. Each is
// served by a goroutine of its own, so that an impostor who says nothing does
// not keep the guest out.
func (m *machine) accept() {
	for {
		conn, err := m.box.Control().Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			m.engine.log.Warn("accept guest", "session_id", m.session, "error", err)
			select {
			case <-m.gone:
				return
			case <-time.After(acceptRetry):
				continue
			}
		}
		m.wg.Go(func() { m.serve(conn) })
	}
}

// serve hears one connection's guest out and keeps it until it ends.
func (m *machine) serve(conn net.Conn) {
	caller, err := guestapi.Receive(m.engine.ctx, conn, m.box.Secret())
	if err != nil {
		m.engine.log.Warn("guest refused", "session_id", m.session, "error", err)
		return
	}
	m.welcome(caller)
}

// welcome admits a guest that has said hello and keeps its connection until it
// ends.
func (m *machine) welcome(caller *guestapi.Caller) {
	ctx, cancel := context.WithCancel(m.engine.ctx)
	defer cancel()
	link, err := caller.Admit(ctx, m.greet(ctx), reporter{m})
	if err != nil {
		m.engine.log.Warn("guest refused", "session_id", m.session, "error", err)
		return
	}
	defer link.Close()
	if !m.connect(link) {
		m.engine.log.Warn("guest refused: another connection is live", "session_id", m.session)
		return
	}
	defer m.disconnect(link)
	if err := m.brief(ctx, link); err != nil {
		m.engine.log.Warn("brief guest", "session_id", m.session, "error", err)
		return
	}
	m.open()
	m.engine.resumeTurn(ctx, m)
	select {
	case <-link.Done():
	case <-m.gone:
	}
}

// greet answers a guest that knows the secret: its epoch, how much of it is
// stored, and the active run. A second guest beside a live one is refused.
func (m *machine) greet(ctx context.Context) guestapi.Welcome {
	refuse := func(why string) guestapi.Welcome { return guestapi.Welcome{Version: guestapi.Version, Error: why} }
	m.mu.Lock()
	live := m.link != nil
	m.mu.Unlock()
	if live {
		return refuse("another connection of this sandbox is live")
	}
	row, err := m.engine.store.Machine(ctx, m.session)
	if err != nil {
		return refuse("this sandbox is not known any more")
	}
	r, err := activeRun(ctx, m.engine.store, m.session)
	if err != nil {
		return refuse("the store does not answer")
	}
	active := ""
	if r != nil {
		active = r.ID.String()
	}
	return guestapi.Welcome{Version: guestapi.Version, Epoch: row.Epoch, Ack: row.Ack, Active: &active}
}

func (m *machine) brief(ctx context.Context, link *guestapi.Link) error {
	ctx, cancel := context.WithTimeout(ctx, linkPatience)
	defer cancel()
	if err := link.Configure(ctx, m.config); err != nil {
		return fmt.Errorf("configure guest: %w", err)
	}
	return nil
}

func (m *machine) connect(link *guestapi.Link) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.link != nil {
		return false
	}
	m.link = link
	select {
	case <-m.up:
	default:
		close(m.up)
	}
	return true
}

// waitUp waits for the guest to show itself. It may not be briefed yet: calls
// to it wait for that by themselves.
func (m *machine) waitUp(ctx context.Context) error {
	select {
	case <-m.up:
		return nil
	case <-m.box.Done():
		return errSandboxLost
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// open lets calls through: the guest is briefed.
func (m *machine) open() {
	m.mu.Lock()
	defer m.mu.Unlock()
	close(m.linked)
}

func (m *machine) disconnect(link *guestapi.Link) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.link != link {
		return
	}
	m.link, m.lost = nil, m.engine.now()
	select {
	case <-m.linked:
		m.linked = make(chan struct{})
	default: // it was never opened
	}
}

// guest gives the connection to the machine's guest, waiting for it when it is
// down just now.
func (m *machine) guest(ctx context.Context) (guestapi.Guest, error) {
	patience := time.NewTimer(linkPatience)
	defer patience.Stop()
	for {
		m.mu.Lock()
		link, linked := m.link, m.linked
		m.mu.Unlock()
		select {
		case <-linked:
			if link != nil {
				return link, nil
			}
		case <-m.box.Done():
			return nil, errSandboxLost
		case <-m.gone:
			if m.engine.ctx.Err() != nil {
				return nil, errStopping
			}
			return nil, errSandboxLost // removed, or given up
		case <-patience.C:
			m.doubt()
			return nil, errAway
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// ask calls the guest and repeats the call, which has to be idempotent, when the
// connection is lost under it.
func ask[T any](ctx context.Context, m *machine, call func(g guestapi.Guest) (T, error)) (T, error) {
	defer m.rouse(ctx)()
	var zero T
	for {
		g, err := m.guest(ctx)
		if err != nil {
			return zero, err
		}
		answer, err := call(g)
		var refused *fault.Error
		if err == nil || errors.As(err, &refused) {
			return answer, err
		}
		if ctx.Err() != nil {
			return zero, context.Cause(ctx)
		}
		if err := m.waitLoss(ctx, g); err != nil {
			return zero, err
		}
	}
}

// lostUnder is why a verb of the driver failed with err: errSandboxLost when the
// machine ended under it, which may be known a moment later, else err.
func (m *machine) lostUnder(err error) error {
	select {
	case <-m.box.Done():
		return errSandboxLost
	case <-time.After(endKnown):
		return err
	}
}

// waitLoss waits until the connection g, on which a call just failed, is taken
// down, so that the next try uses a new one.
func (m *machine) waitLoss(ctx context.Context, g guestapi.Guest) error {
	link := g.(*guestapi.Link)
	select {
	case <-link.Done():
		m.disconnect(link)
		return nil
	case <-m.box.Done():
		return errSandboxLost
	case <-time.After(time.Second): // the connection lives: the call alone failed
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// runUntil sets the deadline of the running run; zero when none runs.
func (m *machine) runUntil(deadline time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.runEnds = deadline
	m.listen = m.engine.now().Add(silenceLimit)
	m.active = m.engine.now()
	m.stored = m.active // with the event of the run's start or end
}
