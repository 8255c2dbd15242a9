package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"time"
)

// Hooks are the commands that do not act through the API; the program's main
// function provides them.
type Hooks struct {
	// Version is the version of this build, e.g. v0.1.0.
	Version string
	// Runtime names the embedded sandbox runtime and its version.
	Runtime string
	// Serve runs a server until ctx is cancelled, then stops it in order.
	Serve func(ctx context.Context, cfg ServeConfig) error
	// Demo shows a session live and asserts every step of it.
	Demo func(ctx context.Context, cfg DemoConfig) error
	// Doctor looks whether this host can run Paddock; it returns whether nothing
	// stops work.
	Doctor func(ctx context.Context, cfg DoctorConfig) (well bool, err error)
}

// ServeConfig is what `paddock serve` was told.
type ServeConfig struct {
	Listen            string        // host:port, e.g. 127.0.0.1:7723
	DataDir           string        // absolute folder that keeps everything
	TemplateDir       string        // absolute folder of root file systems
	AgentsDir         string        // absolute folder of installed agents
	MaxActiveSessions int           // slots of a team, ≥ 1
	Pool              int           // most started sandboxes kept ready for creates, 0: none
	MemoryReserve     int           // MiB of memory of the host that creates leave free
	DiskReserve       int           // MiB of the data folder's disk that creates leave free
	HistoryLimit      int           // MiB of one session's history; 0: no limit
	HistoryRetention  time.Duration // of removed sessions; 0: for ever
	NotifyURL         string        // told when something waits or a run ends; empty: nobody
	NotifyCommand     string        // likewise
	OTLPEndpoint      string        // where spans go; empty: where OTEL_ variables say
	DNS               []string      // upstream resolvers of sandboxes; empty: those of the host
	EgressDeny        []string      // hosts and addresses that no sandbox may reach
	EgressAllow       []string      // private addresses that sandboxes may reach
	UpstreamCA        string        // PEM file of authorities of hosts of brokered secrets; empty: none beside this host's
	Registries        []string      // of images, to be reached wherever they are
	Connections       int           // most open connections of one sandbox
	Bandwidth         int           // MiB in a second that one sandbox may move each way; 0: no limit
	SaveEvery         time.Duration // between saves of the files of a session in use
	LogLevel          string        // debug, info, warn, error
	LogFormat         string        // auto, text, json
	Token             string        // PADDOCK_TOKEN; empty: the server makes one
	Out               io.Writer
	Err               io.Writer // where logs go
}

// DemoConfig is what `paddock demo` was told.
type DemoConfig struct {
	Out  io.Writer
	Keep bool // leave the temporary folder for inspection
}

// DoctorConfig is what `paddock doctor` was told.
type DoctorConfig struct {
	URL         string // of the server that the command line would ask
	TokenFile   string // that was named by a flag or PADDOCK_CONTEXT and counts; may be empty
	Listen      string
	DataDir     string // absolute
	TemplateDir string // absolute
	Root        bool
	Report      func(DoctorCheck) // told of each check as it is done
}

// DoctorCheck is one thing that doctor looked at.
type DoctorCheck struct {
	Name   string `json:"name"`
	Status string `json:"status"`        // ok, warning, failed, skipped
	Detail string `json:"detail"`        // what was found
	Fix    string `json:"fix,omitempty"` // what to do about it
	TookMS int64  `json:"took_ms"`
}

// Main runs one command line (args without the program's name) and returns the
// exit code. An interrupt or SIGTERM cancels the command's context; a second one
// ends a client command at once, a third one serve and demo, too.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, hooks Hooks) int {
	a := &app{in: stdin, out: stdout, err: stderr, hooks: hooks, getenv: os.Getenv, now: time.Now}
	a.patience.Store(clientPatience)
	ctx, release := a.interruptible(ctx)
	defer release()

	root := newRoot(a)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err != nil && ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = errInterrupted
	}
	return a.finish(err)
}
