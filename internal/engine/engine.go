package engine

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"paddock/internal/agents/installed"
	"paddock/internal/environment"
	"paddock/internal/event"
	"paddock/internal/fault"
	"paddock/internal/id"
	"paddock/internal/metrics"
	"paddock/internal/notify"
	"paddock/internal/recovery"
	"paddock/internal/redaction"
	"paddock/internal/sandbox"
	"paddock/internal/store"
	"paddock/internal/tracing"
	"paddock/internal/vault"
)

// Options is what an engine stands on.
type Options struct {
	Store  store.Store
	Driver sandbox.Driver
	Logger *slog.Logger

	// MaxActiveSessions is each team's limit; 0 means none.
	MaxActiveSessions int

	// Pool is the most spares that are kept ready for creates; 0 means none.
	Pool int

	// Free reads what this host has free for sandboxes, and Reserve is what
	// creates leave of it. A nil Free means that everything fits.
	Free    func() (Room, error)
	Reserve Room

	// Agents is the folder of installed agents.
	Agents installed.Folder

	// Vault keeps the secrets of environments; nil refuses them.
	Vault *vault.Vault

	// Images keep the root file systems of templates; nil: there is none but the
	// host's.
	Images sandbox.Images

	// Points keep the saved files of sessions, from which those come back whose
	// sandbox is lost; nil keeps none. SaveEvery is how often the files of a
	// session in use are saved between the ends of its runs.
	Points    *recovery.Points
	SaveEvery time.Duration
	// Rebooted says that this host was started anew since the last server ran.
	Rebooted bool

	// Warnings gives the sentences that a create answer carries, about what this
	// host cannot do; nil means none.
	Warnings func() []string

	// Most is what the server gives any sandbox of the network; zero values are no
	// limit.
	Most environment.Network

	// Closed says what of a network no spec can open to sandboxes on this server,
	// and why; "" where all of it can be. Nil means that nothing is closed.
	Closed func(netip.Prefix) string

	// HistoryLimit is how many bytes of payloads and native frames one session's
	// history holds; past it the oldest are dropped. 0 means no limit.
	HistoryLimit int64

	// HistoryRetention is how long rows and events of destroyed sessions stay
	// readable; 0 means for ever.
	HistoryRetention time.Duration

	// Notify are the ways by which somebody outside is told that something waits
	// for a person, or that a run has ended.
	Notify []notify.Channel

	// Metrics counts and measures; nil means that nobody looks.
	Metrics *metrics.Metrics

	// Trace makes spans; nil makes none.
	Trace *tracing.Tracer

	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Engine runs sessions. It is safe for concurrent use.
type Engine struct {
	store    store.Store
	driver   sandbox.Driver
	log      *slog.Logger
	metrics  *metrics.Metrics // may be nil
	trace    *tracing.Tracer  // may be nil
	limit    int
	warnings func() []string
	now      func() time.Time // as exact as the store keeps it
	hub      *hub[id.Session]
	teams    *hub[id.Team]
	couriers []*courier
	patience time.Duration // answerPatience, but in tests
	tries    tries         // untilDone, but in tests
	stall    time.Duration // saveStall, but in tests

	ctx    context.Context // ends with Stop
	cancel context.CancelFunc
	crew   crew

	agents    installedAgents
	vault     *vault.Vault // nil: none
	veils     veils
	points    *recovery.Points // nil: none
	saveEvery time.Duration
	saves     chan struct{} // holds a token for each save under way
	restores  chan struct{} // and for each restore
	rebooted  bool

	most   environment.Network       // what any sandbox may use
	closed func(netip.Prefix) string // what stays closed to all of them

	images  images
	flights flights
	host    host
	pool    *pool // nil: none
	adopted atomic.Int64
	leaving atomic.Bool

	historyLimit int64
	retention    retention

	mu     sync.Mutex
	actors map[id.Session]*actor
}

// New makes an engine; Start brings it to life.
func New(o Options) *Engine {
	now := o.Now
	if now == nil {
		now = time.Now
	}
	if o.Warnings == nil {
		o.Warnings = func() []string { return nil }
	}
	if o.Closed == nil {
		o.Closed = func(netip.Prefix) string { return "" }
	}
	ctx, cancel := context.WithCancel(context.Background())
	e := &Engine{
		store: o.Store, driver: o.Driver, log: o.Logger, metrics: o.Metrics, trace: o.Trace, limit: o.MaxActiveSessions, warnings: o.Warnings,
		now: func() time.Time { return now().Truncate(time.Microsecond) }, patience: answerPatience, stall: saveStall, tries: untilDone(), ctx: ctx, cancel: cancel, actors: map[id.Session]*actor{},
		flights: flights{byID: map[flightID]*flight{}}, host: host{free: o.Free, reserve: o.Reserve},
	}
	e.vault, e.veils.known = o.Vault, map[id.Environment]*redaction.Veil{}
	e.hub = newHub(e.store.Events, func(v event.Event) int64 { return v.Seq })
	e.teams = newHub(e.store.TeamEvents, func(v event.Event) int64 { return v.Place })
	e.historyLimit, e.most, e.closed = o.HistoryLimit, o.Most, o.Closed
	e.retention.after = o.HistoryRetention
	if o.Points != nil && o.Driver.Capabilities().Files {
		e.points = o.Points
	}
	e.agents.folder = o.Agents
	e.saveEvery, e.rebooted = o.SaveEvery, o.Rebooted
	e.saves, e.restores = make(chan struct{}, savesAtOnce), make(chan struct{}, restoresAtOnce)
	e.images.port, e.images.fetches = o.Images, map[id.Template]*fetch{}
	e.pool = newPool(e, o.Pool)
	for _, channel := range o.Notify {
		e.couriers = append(e.couriers, &courier{engine: e, channel: channel, wake: make(chan struct{}, 1)})
	}
	return e
}

// Start holds the store against what runs on this host, takes up every session
// where it stood, and begins to watch the clock. It returns once all known
// machines are adopted.
func (e *Engine) Start(ctx context.Context) error {
	if err := e.adopt(ctx); err != nil {
		return fmt.Errorf("adopt sandboxes: %w", err)
	}
	if err := e.resumeImages(ctx); err != nil {
		return err
	}
	e.crew.start(e.watchClock)
	for _, k := range e.couriers {
		e.crew.start(k.run)
	}
	if e.pool != nil {
		e.crew.start(e.pool.run)
	}
	return nil
}

// Adopted is how many machines Start found and took up.
func (e *Engine) Adopted() int { return int(e.adopted.Load()) }

// Leave is told before calls in flight are ended because the server ends: what
// they started in machines lives on.
func (e *Engine) Leave() { e.leaving.Store(true) }

// Stop lets go of everything: calls in flight end, the machines of sessions run
// on for the next server, and spares end. It returns when nothing of the engine runs any more.
func (e *Engine) Stop() {
	e.Leave()
	if e.ctx.Err() == nil {
		e.saveActivity(0)
	}
	e.cancel() // every machine's watcher lets it go
	e.crew.leave()
}

// spawn runs fn in the background, owned by the engine; false, and fn is not
// run, when the engine has stopped.
func (e *Engine) spawn(fn func(ctx context.Context)) bool {
	return e.crew.start(func() { fn(e.ctx) })
}

// actor finds or makes the actor of a session.
func (e *Engine) actor(sid id.Session) *actor {
	e.mu.Lock()
	defer e.mu.Unlock()
	a := e.actors[sid]
	if a == nil {
		a = &actor{engine: e, session: sid}
		e.actors[sid] = a
	}
	return a
}

// machineOf gives a session's attached machine, or nil.
func (e *Engine) machineOf(sid id.Session) *machine {
	e.mu.Lock()
	a := e.actors[sid]
	e.mu.Unlock()
	if a == nil {
		return nil
	}
	return a.attached()
}

// forget drops the actor of a session that has ended for good.
func (e *Engine) forget(sid id.Session) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.actors, sid)
}

func (e *Engine) allActors() []*actor {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := make([]*actor, 0, len(e.actors))
	for _, a := range e.actors {
		all = append(all, a)
	}
	return all
}

// Stats is a reading of what the engine holds.
type Stats struct {
	Spares   int // started machines that wait for a create
	Starting int // sessions whose machine is being started or claimed
}

// Stats reads it.
func (e *Engine) Stats() Stats {
	e.host.mu.Lock()
	defer e.host.mu.Unlock()
	return Stats{Spares: e.pool.size(), Starting: e.host.starting}
}

// Ready says whether sessions can be started: the engine is not stopping and
// the store answers.
func (e *Engine) Ready(ctx context.Context) error {
	if e.ctx.Err() != nil {
		return errStopping
	}
	if _, err := e.store.Sessions(ctx, store.SessionFilter{Limit: 1}); err != nil {
		return fault.Wrap(err, fault.Unavailable, "the store does not answer")
	}
	return nil
}
