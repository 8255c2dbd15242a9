package store

import (
	"context"
	"errors"
	"time"

	"paddock/internal/approval"
	"paddock/internal/environment"
	"paddock/internal/event"
	"paddock/internal/id"
	"paddock/internal/session"
	"paddock/internal/team"
)

// The errors of the port; every other error means that the store is broken.
var (
	ErrNotFound  = errors.New("not found")
	ErrStale     = errors.New("changed by somebody else meanwhile")
	ErrNameInUse = errors.New("name is in use")
	ErrNoSlot    = errors.New("no free slot")
)

// Store keeps everything. It is safe for concurrent use.
type Store interface {
	Reader

	// Update runs fn in a transaction of its own and returns once it is durable
	// (or with fn's error, or the store's, and nothing written). fn may read its
	// own writes through tx, runs alone, must be quick, must not block and must
	// not keep tx. A panic in fn becomes its error, and an error of the database
	// that fn has hidden fails the update all the same. When ctx ends while
	// waiting, the error is ctx's and the outcome is unknown to the caller only if
	// fn had begun.
	Update(ctx context.Context, fn func(tx Tx) error) error

	// Close waits for the running commit and closes. Updates after it fail.
	Close() error
}

// Reader reads what is committed (or, on a Tx, also what it wrote itself).
// Absent rows are ErrNotFound; empty lists are no error.
type Reader interface {
	// Session finds a session of the team by id or by name. A name means its
	// live holder (HoldsName), else the one that held it last.
	Session(ctx context.Context, team id.Team, ref string) (session.Session, error)

	// SessionByID finds a session of any team.
	SessionByID(ctx context.Context, session id.Session) (session.Session, error)

	// Sessions lists sessions, newest first.
	Sessions(ctx context.Context, filter SessionFilter) ([]session.Session, error)

	// Run finds one run of a session.
	Run(ctx context.Context, session id.Session, run id.Run) (session.Run, error)

	// Runs lists a session's runs in order of creation, oldest first.
	Runs(ctx context.Context, filter RunFilter) ([]session.Run, error)

	// Approval finds one approval of a session.
	Approval(ctx context.Context, session id.Session, approval id.Approval) (approval.Approval, error)

	// Approvals lists a session's approvals, oldest first, also what was decided
	// at once; only the open ones (approval.State.Open) when open is set.
	Approvals(ctx context.Context, session id.Session, open bool) ([]approval.Approval, error)

	// TeamApprovals lists what people were asked (approval.Approval.OfPeople) in all
	// sessions of a team, oldest first.
	TeamApprovals(ctx context.Context, filter ApprovalFilter) ([]approval.Approval, error)

	// DueApprovals lists open approvals of any team whose deadline is not after a
	// moment, the longest overdue first, at most limit.
	DueApprovals(ctx context.Context, at time.Time, limit int) ([]approval.Approval, error)

	// Grant finds one grant of a session, revoked or not.
	Grant(ctx context.Context, session id.Session, grant id.Grant) (approval.Grant, error)

	// Grants lists a session's grants that are not revoked, oldest first.
	Grants(ctx context.Context, session id.Session) ([]approval.Grant, error)

	// Events reads a piece of a session's history, in order of seq.
	Events(ctx context.Context, session id.Session, page EventPage) ([]event.Event, error)

	// TeamEvents reads a piece of the history of all sessions of a team, in order
	// of place: what is committed later comes later. Page means places by After
	// and Before.
	TeamEvents(ctx context.Context, team id.Team, page EventPage) ([]event.Event, error)

	// EventPlace finds the place of an event of any session of the team.
	EventPlace(ctx context.Context, team id.Team, event id.Event) (int64, error)

	// Environment finds one environment, removed or not.
	Environment(ctx context.Context, environment id.Environment) (environment.Environment, error)

	// Environments lists a team's environments that are not removed, newest first.
	Environments(ctx context.Context, filter EnvironmentFilter) ([]environment.Environment, error)

	// Template finds one template of any team.
	Template(ctx context.Context, template id.Template) (Template, error)

	// Templates lists templates, newest first.
	Templates(ctx context.Context, filter TemplateFilter) ([]Template, error)

	// ImagesInUse lists the digests of images that a template, a session that is not
	// over, or one whose machine is not gone yet, has; each once.
	ImagesInUse(ctx context.Context) ([]string, error)

	// Machine finds the machine of a session.
	Machine(ctx context.Context, session id.Session) (Machine, error)

	// Machines lists all machines.
	Machines(ctx context.Context) ([]Machine, error)

	// Token finds a token by team.HashToken of its text.
	Token(ctx context.Context, hash string) (team.Token, error)

	// DueNotices lists notices of a channel whose next attempt is not after a
	// moment, the longest due first, at most limit.
	DueNotices(ctx context.Context, channel string, at time.Time, limit int) ([]Notice, error)

	// Receipt finds what is kept of the team's call under this key.
	Receipt(ctx context.Context, team id.Team, key string) (Receipt, error)

	// Census counts what lives. It takes longer the more that is.
	Census(ctx context.Context) (Census, error)
}

// Tx is one transaction.
type Tx interface {
	Reader

	// CreateSession inserts a session. ErrNameInUse when a session of the team
	// that HoldsName has the name (compared by session.NameKey); ErrNoSlot when
	// limit > 0 and limit or more sessions of the team HoldsSlot.
	CreateSession(s session.Session, limit int) error

	// UpdateSession stores s over the row if that still has s.Generation, else
	// ErrStale. The stored row, and s, then have the next generation. Place and
	// time of the last event and the size of the history are not touched (see Append); nor are id, team, name,
	// adapter and time of creation, which never change.
	UpdateSession(s *session.Session) error

	// SaveRun, SaveApproval, SaveGrant, SaveMachine, SaveToken, SaveReceipt insert the row or
	// store it over the one with the same id, or the same team and key.
	SaveRun(r session.Run) error
	SaveApproval(a approval.Approval) error
	SaveGrant(g approval.Grant) error
	SaveMachine(m Machine) error
	SaveToken(t team.Token) error
	SaveReceipt(r Receipt) error

	// SaveNotice inserts a notice or stores it over the one with the same id.
	SaveNotice(n Notice) error

	// DeleteNotice forgets a notice; absent is no error.
	DeleteNotice(notice id.Notice) error

	// DeleteNotices forgets the oldest notices that were made before a moment, at
	// most limit of them, and says how many.
	DeleteNotices(before time.Time, limit int) (int, error)

	// SaveEnvironment inserts an environment; they never change.
	SaveEnvironment(e environment.Environment) error

	// RemoveEnvironment takes an environment off the lists, and forgets what it has
	// sealed; sessions that were made
	// from it keep it. ErrNotFound when it is absent, or removed already.
	RemoveEnvironment(environment id.Environment, at time.Time) error

	// SaveTemplate inserts a template or stores it over the one with the same id. A
	// team has one of each name.
	SaveTemplate(t Template) error

	// DeleteTemplate forgets a template; absent is no error.
	DeleteTemplate(template id.Template) error

	// DeleteMachine forgets a session's machine; absent is no error.
	DeleteMachine(session id.Session) error

	// DeleteReceipt forgets the team's receipt under this key; absent is no error.
	DeleteReceipt(team id.Team, key string) error

	// DeleteReceipts forgets the oldest receipts that were made before a moment,
	// at most limit of them, and says how many.
	DeleteReceipts(before time.Time, limit int) (int, error)

	// ForgetDestroyed deletes, of the sessions that were destroyed before a
	// moment, the longest gone first, all that is kept: at most limit rows, and
	// says how many. A session's events go from the oldest, its own row goes last.
	// Environments stay.
	ForgetDestroyed(before time.Time, limit int) (int, error)

	// EnsureTeam finds the team of this name or inserts it with id fresh.
	EnsureTeam(name string, fresh id.Team, at time.Time) (team.Team, error)

	// Append adds events to the end of a session's history and gives them their
	// places: seq without gaps, a place in the team's history behind all others, a
	// time that never runs behind the session's last (at is the clock now), and
	// ids that sort in the order of seq (id.NewEvent). A draft without Data gets {};
	// what is longer than an event may be is cut and marked (event.Fit); a session
	// that is absent is ErrNotFound.
	Append(session id.Session, at time.Time, drafts ...event.Draft) ([]event.Event, error)

	// TrimHistory drops the oldest bodies of a session's history while it holds
	// more than limit bytes (of payloads, as JSON, and of native frames, as they
	// came): first native frames, then what tools took and gave, then whatever
	// else is long. It looks at most events at the most, and goes on
	// where it stood when called again. A trimmed event keeps places, id, time,
	// kind and the short fields of its payload, and says how much was dropped.
	TrimHistory(session id.Session, limit int64, most int) error
}

// What TrimHistory leaves alone, frames and all: the newest event, and before it
// as many as fit one part in NewestShare of the limit, but Untrimmed at the most.
const (
	NewestShare = 8
	Untrimmed   = 256
)

// EnvironmentFilter chooses environments; zero fields choose all.
type EnvironmentFilter struct {
	Team        id.Team
	Name        string         // exact
	Sealed      bool           // only those that hold secrets
	ContentHash string         // environment.Spec.ContentHash
	Before      id.Environment // only those made before this one (ids sort by time)
	Limit       int            // 0: no limit
}

// SessionFilter chooses sessions; zero fields choose all.
type SessionFilter struct {
	Team   id.Team
	States []session.State
	Name   string // exact, compared by session.NameKey
	Search string // a part of the name or of the id, case-insensitive
	// Environment chooses those that were made from it.
	Environment id.Environment
	// Template chooses those whose root was made of it.
	Template id.Template
	// Adapter and AdapterVersion choose those of an agent and of one version of it.
	Adapter        string
	AdapterVersion string
	Before         id.Session // only those made before this one (ids sort by time)
	Limit          int        // 0: no limit
}

// RunFilter chooses runs of one session.
type RunFilter struct {
	Session id.Session
	States  []session.RunState // empty: all
	After   id.Run             // only those created after this one; ErrNotFound when it is not the session's
	Newest  bool               // newest first instead of oldest first; After then means older than
	Limit   int                // 0: no limit
}

// ApprovalFilter chooses approvals of one team.
type ApprovalFilter struct {
	Team  id.Team
	Open  bool        // only those for which approval.State.Open
	After id.Approval // only those asked after this one; ErrNotFound when it is not the team's
	Limit int         // 0: no limit
}

// EventPage chooses a piece of a history.
type EventPage struct {
	After  int64        // seq > After
	Before int64        // seq < Before, when > 0: then the last Limit of these
	Run    id.Run       // only events of this run, when not zero
	Kinds  []event.Kind // only events of these kinds; empty: all
	Limit  int          // at most so many; 0: no limit
	Bytes  int          // at most one more than fit into so many bytes; 0: no limit
	Raw    bool         // with the native bytes
	Bare   bool         // without the payloads
}

// Full says whether a page holds as much as was asked for: there may be more.
func (p EventPage) Full(events []event.Event) bool {
	size := 0
	for _, e := range events {
		size += len(e.Data) + len(e.SourceRaw)
	}
	return p.Limit > 0 && len(events) >= p.Limit || p.Bytes > 0 && size >= p.Bytes
}

// Machine is what is stored of a session's sandbox.
type Machine struct {
	Session   id.Session
	Sandbox   id.Sandbox
	Handle    []byte // sandbox.Handle, encoded
	Epoch     int64  // of the guest's numbering; a new one at each start and restore
	Ack       int64  // last report of the epoch whose effects are stored
	Held      []byte // of a run's text, what may be the beginning of a secret: sealed; nil when there is nothing
	CreatedAt time.Time
}
