package archtest

// layers is the shape of Paddock: a package imports only packages of lower
// layers, or its own parent and child folders. The table repeats
// docs/ARCHITECTURE.md; a new package gets its line in both (TestPageAndTable).
var layers = map[string]int{
	"api": 0,

	"internal/id":               0,
	"internal/fault":            0,
	"internal/undo":             0,
	"internal/failpoint":        0,
	"internal/spelling":         0,
	"internal/plain":            0,
	"internal/trial":            0,
	"internal/logging":          0,
	"internal/embedded":         0,
	"internal/clientcontext":    0,
	"internal/agents":           0,
	"internal/agents/installed": 0,

	"internal/event":     1,
	"internal/policy":    1,
	"internal/redaction": 1,
	"internal/vault":     1,

	"internal/session":     2,
	"internal/environment": 2,
	"internal/approval":    2,
	"internal/team":        2,

	"internal/store":    3,
	"internal/sandbox":  3,
	"internal/guestapi": 3,
	"internal/notify":   3,
	"internal/runtimes": 3,
	"internal/metrics":  3,
	"internal/recovery": 3,
	"internal/tracing":  3,

	"internal/store/sqlstore":  4,
	"internal/store/counted":   4,
	"internal/sandbox/gvisor":  4,
	"internal/network":         4,
	"internal/network/egress":  4,
	"internal/network/gateway": 4,
	"internal/network/broker":  4,
	"internal/template":        4,
	"internal/template/image":  4,
	"internal/guest":           4,
	"internal/demoagent":       4,
	"internal/engine":          4,

	"internal/server": 5,
	"client":          5,

	"internal/cli":            6,
	"internal/cli/chat":       6,
	"internal/cli/transcript": 6,
	"internal/cli/pack":       6,
	"internal/demo":           6,
	"internal/doctor":         6,
	"internal/daemon":         6,
	"internal/fakemodel":      6,
	"e2e/host":                6,

	"cmd/paddock":            7,
	"cmd/paddock-guest":      7,
	"cmd/paddock-demo-agent": 7,
	"internal/archtest":      7,
	"internal/testreport":    7,
	"e2e":                    7,
	"bench":                  7,
}

// only lists packages that few may import, with those few: drivers and other
// ends of ports are chosen in one place.
var only = map[string][]string{
	"internal/sandbox/gvisor":  {"internal/daemon", "cmd/paddock"}, // the program is also the driver's runtime
	"internal/store/sqlstore":  {"internal/daemon", "bench"},
	"internal/store/counted":   {"internal/daemon"},
	"internal/network":         {"internal/daemon"},
	"internal/network/egress":  {"internal/network/gateway", "internal/network", "internal/daemon"},
	"internal/network/gateway": {"internal/network"},
	"internal/network/broker":  {"internal/network/gateway", "internal/network"},
	"internal/template":        {"internal/daemon"},
	"internal/template/image":  {"internal/template", "internal/daemon"},
	"internal/daemon":          {"cmd/paddock"},
	"internal/fakemodel":       {"e2e"},
}

// narrow lists packages that may import less than their layer allows: nothing
// of Paddock but layer 0 and what is named.
var narrow = map[string][]string{
	"internal/cli":    {"client"},
	"internal/demo":   {"client"},
	"internal/doctor": {"client"},
	"client":          {},
}

// forTests lists what tests of any layer may use, and nothing but tests.
var forTests = []string{"internal/fakemodel"}

// guestModules is all that the programs inside a sandbox are made of, besides
// the standard library and guestPackages. The guest is small and static on
// purpose: it is the part that untrusted code stands next to.
var guestModules = []string{
	"github.com/creack/pty",
	"github.com/google/uuid",
	"github.com/hashicorp/yamux",
	"golang.org/x/sync",
	"golang.org/x/sys",
}

// guestPackages are the packages of ours that may be inside a sandbox, with
// everything below them.
var guestPackages = []string{
	"internal/demoagent",
	"internal/event",
	"internal/fault",
	"internal/guest",
	"internal/guestapi",
	"internal/id",
	"internal/undo",
}

// guestPrograms run inside sandboxes.
var guestPrograms = []string{"cmd/paddock-guest", "cmd/paddock-demo-agent"}
