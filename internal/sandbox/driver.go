package sandbox

import (
	"context"
	"errors"
	"net"
	"time"
)

// ErrGone reports that the machine a handle names does not exist on this host
// (any more): it ended, was killed, or was never started.
var ErrGone = errors.New("sandbox is gone")

// ErrUnsupported reports a verb that the driver's Capabilities do not declare.
var ErrUnsupported = errors.New("not supported by this sandbox driver")

// Driver is one isolation technology. All methods are safe for concurrent use;
// calls on different machines do not wait for each other, and a call returns soon
// after its context has ended.
type Driver interface {
	// Name is the word stored in handles, e.g. "gvisor".
	Name() string

	// Capabilities says what this driver can do on this host.
	Capabilities() Capabilities

	// Plan computes the handle of a new machine. It is pure: nothing on the
	// host changes, and a planned handle that is never started needs no
	// clean-up (though Destroy accepts it).
	Plan(spec Spec) (Handle, error)

	// Start makes the planned machine and returns when its kernel runs and the
	// guest process has been started; the guest itself may dial a moment later.
	// On error everything made so far is undone. Starting a handle that already
	// runs is an error.
	Start(ctx context.Context, handle Handle, spec Spec) (Machine, error)

	// Recover finds a machine that an earlier process of this server started.
	// It returns ErrGone when the machine does not run (leftovers may remain:
	// call Destroy). A paused machine is recovered paused. The secrets are those
	// it was started or claimed with: nothing on the host knows them.
	Recover(ctx context.Context, handle Handle, secrets []Brokered) (Machine, error)

	// Continue lets the guest of a machine that this server holds go on, should
	// something inside have stopped it (SIGSTOP), and changes nothing else: what
	// is paused stays so. A guest that was not stopped does not notice.
	Continue(ctx context.Context, handle Handle) error

	// Destroy ends the machine, if it runs, and removes every trace of it:
	// processes, mounts, namespaces, cgroups, sockets, folders. It is
	// idempotent and succeeds when nothing is there. It returns only when
	// nothing is left, or an error that says what is.
	Destroy(ctx context.Context, handle Handle) error

	// Leftovers lists the handles of all machines of which this driver finds
	// any trace in its folder, running or not. The engine destroys those that
	// the store does not know.
	Leftovers(ctx context.Context) ([]Handle, error)
}

// Machine is one running (or paused) machine. Methods are safe for concurrent
// use; verbs on one machine are serialised by the driver, and end with their
// context.
type Machine interface {
	// Handle is what the engine stores to find this machine again.
	Handle() Handle

	// Control is where the machine's guest dials. The listener belongs to the
	// machine: Close closes it. After Recover a new listener stands at the same
	// place, so a guest that dials again finds it.
	Control() net.Listener

	// Claim gives a machine that was started for nobody (Spec.Session empty) its
	// owner: what the guest reads at IdentityMount says so when it returns. The
	// hostname in force is the guest's to set. Again for the same session is no
	// error; for another one it is. From then on it may connect to where rules say,
	// and its requests get the secrets.
	Claim(ctx context.Context, who Identity, rules Egress, secrets []Brokered) error

	// Secret is what only this machine's guest knows; the guest shows it when
	// it dials. It is random, 32 bytes, hex.
	Secret() string

	// Pause freezes every process of the machine: no CPU until Resume. Pausing
	// a paused machine is no error.
	Pause(ctx context.Context) error

	// Resume thaws a paused machine; the same processes go on. Resuming a
	// running machine is no error.
	Resume(ctx context.Context) error

	// Paused says whether the machine is frozen, as the driver observes it.
	Paused() bool

	// SaveFiles writes the machine's files, one cut of everything that was
	// written inside so far, into an empty folder, from which another machine
	// can start (Spec.Files). The machine stands still meanwhile and goes on
	// after, a paused one stays paused. The files are not synced to the disk, and
	// on error the folder holds nothing of use. ErrUnsupported for a machine of
	// an older build that cannot.
	SaveFiles(ctx context.Context, folder string) error

	// Stats reads the machine's present use of the host.
	Stats(ctx context.Context) (Stats, error)

	// MemoryAlarm receives when it is time to look at Stats: whenever the
	// machine's memory may have come to three quarters of Full, or has gone on
	// growing beyond it, or when something of it was killed for memory. It may
	// receive for nothing; several alarms may be one. Nil, or closed, where the
	// driver cannot tell (any more): then the caller has to look by himself. It
	// is for one receiver.
	MemoryAlarm() <-chan struct{}

	// Done is closed when the machine has ended, for whatever reason; Exit then
	// says how.
	Done() <-chan struct{}

	// Exit says how the machine ended. Only valid once Done is closed.
	Exit() Exit

	// Close lets go of the machine without ending it: the listener and every
	// watcher are closed, the machine runs on for the next server to Recover.
	Close() error
}

// Spec is what a new machine is to be.
type Spec struct {
	// ID is the sandbox id (sbx_ + 26 characters), unique on this host and of
	// fixed length.
	ID string
	// Session is the id of the session the machine belongs to; it is told to
	// the guest as identity, and written beside the machine for people. Empty for
	// a machine that is nobody's yet: Machine.Claim gives it an owner, and until
	// then its guest has the right to set the hostname.
	Session string
	// Hostname inside the machine: 1–63 of [a-z0-9-].
	Hostname string
	// Template names the root file system, e.g. "host".
	Template string
	// Size bounds the machine's use of the host.
	Size Size
	// Files is a folder that SaveFiles filled: the machine starts with those
	// files, which Start has read when it returns. Empty: with the template's alone.
	Files string
	// Egress is where the machine may connect to, until a Claim says otherwise.
	Egress Egress
	// Secrets are what its requests get, likewise. Handles do not have them.
	Secrets []Brokered
}

// Identity is whose machine a machine is, as its guest is told.
type Identity struct {
	Session  string // the session's id
	Hostname string // 1–63 of [a-z0-9-]
}

// Size is a class of machine.
type Size struct {
	Slug     string // e.g. "small"
	VCPUs    int    // whole CPUs; 0 = no limit
	MemoryMB int    // MiB of memory; 0 = no limit
	DiskMB   int    // MiB of files written inside; 0 = no limit
	Pids     int    // processes inside; the driver derives the host limit
}

// Capabilities is what a driver can do on this host.
type Capabilities struct {
	Isolation string // one word for people: "gvisor", "microvm"
	Pause     bool   // freeze and thaw with live memory
	Files     bool   // save the files of a machine, and start one with them
	Snapshot  bool   // save and restore live memory
	Confine   bool   // inside, user and mount namespaces can keep processes from writing to folders
	Limits    string // "cgroup v1", "cgroup v2", "cgroup hybrid" or "" when limits cannot be enforced
}

// Stats is one reading of a machine's use of the host.
type Stats struct {
	CPU      time.Duration // CPU time used since start, all processes of the machine
	Memory   int64         // bytes in memory now that the host cannot take back
	Full     int64         // bytes of memory from which on the machine has no more; what goes far beyond it, the host's kernel ends. 0: no limit
	Disk     int64         // bytes on disk of what was written inside and is there still
	Pids     int           // host processes and threads counted by the pids cgroup; 0 when unknown
	OOMKills int           // processes of it the host's kernel killed for memory so far; 0 when unknown
}

// Exit says how a machine ended.
type Exit struct {
	At     time.Time
	OOM    bool   // the host's kernel killed a process of it for memory
	Reason string // one sentence for people
}
