package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"paddock/internal/agents/installed"
	"paddock/internal/clientcontext"
	"paddock/internal/engine"
	"paddock/internal/environment"
	"paddock/internal/metrics"
	"paddock/internal/recovery"
	"paddock/internal/runtimes"
	"paddock/internal/sandbox"
	"paddock/internal/sandbox/gvisor"
	"paddock/internal/server"
	"paddock/internal/store/counted"
	"paddock/internal/store/sqlstore"
	"paddock/internal/template"
)

// Config is what a server is told.
type Config struct {
	Version           string
	Listen            string // host:port
	DataDir           string // absolute
	TemplateDir       string // absolute
	AgentsDir         string // absolute; installed agents
	MaxActiveSessions int
	Pool              int         // most spare sandboxes
	Reserve           engine.Room // that creates leave of this host
	HistoryLimit      int64       // bytes of one session; 0: none
	HistoryRetention  time.Duration
	SaveEvery         time.Duration // see engine.Options
	DNS               []string      // see network.Options
	EgressDeny        []string      // see egress.ParseOperator
	EgressAllow       []string      // likewise
	UpstreamCA        string        // see network.Options
	Registries        []string      // hosts, with a port or without, that images are pulled from wherever they are
	Connections       int           // most open connections of one sandbox
	Bandwidth         int           // bytes in a second of one sandbox each way; 0: no limit
	NotifyURL         string        // told when something waits or a run ends; empty: nobody
	NotifyCommand     string        // likewise
	OTLPEndpoint      string        // where spans go; empty: where the environment says
	Token             string        // admitted for the default team; empty: one is made
	Out               io.Writer     // for people
	Log               *slog.Logger
}

// stopPatience is how long calls in flight may take to end when the server
// stops; then their connections are closed.
const stopPatience = 5 * time.Second

// Run serves until ctx ends. Then calls in flight are ended, and sandboxes are
// left running for the next server on the folder. What a restart does not cure
// is a MisconfiguredError.
func Run(ctx context.Context, cfg Config) error { return classify(run(ctx, cfg, findSupervisor())) }

func run(ctx context.Context, cfg Config, boss supervisor) (err error) {
	cfg.Log.Info("starting", "version", cfg.Version, "data_dir", cfg.DataDir, "pid", os.Getpid())
	if err := os.MkdirAll(cfg.DataDir, 0o700); err != nil {
		return fmt.Errorf("make data folder: %w", err)
	}
	lock, err := lockFolder(cfg.DataDir)
	if err != nil {
		return err
	}
	defer lock.Close()
	channels, err := notifyChannels(cfg)
	if err != nil {
		return err
	}
	trace, err := openTracing(ctx, cfg)
	if err != nil {
		return err
	}
	defer trace.Stop()
	l, err := listen(cfg.Listen)
	if err != nil {
		return err
	}
	defer l.Close()

	st, err := sqlstore.Open(ctx, filepath.Join(cfg.DataDir, "paddock.db"), cfg.Log)
	if err != nil {
		return fmt.Errorf("open store: %w", err)
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	seen := metrics.New(cfg.Version)
	secrets, err := openVault(ctx, cfg, st)
	if err != nil {
		return err
	}
	counting, err := counted.New(ctx, st, seen)
	if err != nil {
		return err
	}

	kept, err := runtimes.Open(filepath.Join(cfg.DataDir, "runtimes"))
	if err != nil {
		return err
	}
	ours, err := keepRuntime(kept, cfg.Version)
	if err != nil {
		return err
	}
	operator, err := readOperator(cfg, l.Addr())
	if err != nil {
		return err
	}
	images, err := openImages(cfg, operator)
	if err != nil {
		return err
	}
	templates, err := template.New(template.Options{Dir: cfg.TemplateDir, Exclude: []string{cfg.DataDir}, Images: images, Logger: cfg.Log})
	if err != nil {
		return fmt.Errorf("open templates: %w", err)
	}
	preparing, stopPreparing := context.WithCancel(ctx)
	host := prepareHost(preparing, templates, cfg.Log)
	defer func() { stopPreparing(); <-host.done }()
	net, err := openNetwork(cfg, operator)
	if err != nil {
		return err
	}
	driver, warnings, err := openDriver(cfg, kept, ours, templates, net)
	if err != nil {
		return err
	}
	running, err := driver.Leftovers(ctx)
	if err != nil {
		return fmt.Errorf("look for sandboxes: %w", err)
	}
	if len(running) == 0 { // else their sessions are served at once, and only new ones wait
		<-host.done
		if host.err != nil {
			return fmt.Errorf("prepare template %s: %w", template.Host, host.err)
		}
	}
	points, err := recovery.Open(filepath.Join(cfg.DataDir, "recovery"))
	if err != nil {
		return err
	}
	rebooted, err := noteBoot(filepath.Join(cfg.DataDir, "boot-id"))
	if err != nil {
		return err
	}
	e := engine.New(engine.Options{
		Agents: installed.At(cfg.AgentsDir),
		Vault:  secrets,
		Images: images,
		Points: points, SaveEvery: cfg.SaveEvery, Rebooted: rebooted,
		Notify: channels, Metrics: seen, Trace: trace,
		Store: counting, Driver: driver, Logger: cfg.Log, MaxActiveSessions: cfg.MaxActiveSessions,
		Warnings: func() []string { return append(slices.Clone(warnings), host.warnings()...) },
		Pool:     cfg.Pool, Reserve: cfg.Reserve, Free: func() (engine.Room, error) { return freeRoom(cfg.DataDir) },
		Most:         environment.Network{Connections: cfg.Connections, Bandwidth: int64(cfg.Bandwidth)},
		Closed:       operator.Closed,
		HistoryLimit: cfg.HistoryLimit, HistoryRetention: cfg.HistoryRetention,
	})
	defer e.Stop()
	watchNetwork(net, e)
	seen.Watch(func() metrics.Reading {
		r := e.Reading(ctx)
		r.Host = readHost(cfg.DataDir)
		return r
	})
	url := clientcontext.URLOf(l.Addr())
	if err := admit(ctx, e, cfg, url); err != nil {
		return err
	}
	if err := e.Start(ctx); err != nil {
		return err
	}
	if err := pruneRuntimes(ctx, kept, ours.Digest, driver, cfg.Log); err != nil {
		return err
	}
	limits := driver.Capabilities().Limits
	if limits == "" {
		limits = "none"
	}
	cfg.Log.Info("serving", "url", url, "data_dir", cfg.DataDir, "version", cfg.Version,
		"isolation", driver.Capabilities().Isolation, "limits", limits, "adopted", e.Adopted())
	boss.tell("READY=1", fmt.Sprintf("STATUS=serving at %s, %d sandboxes adopted at the start", url, e.Adopted()))
	return serve(ctx, cfg, server.Options{Engine: e, Metrics: seen, Trace: trace, Logger: cfg.Log, Version: cfg.Version}, l, url, boss)
}

// openDriver opens the sandbox driver, and says what this host cannot do.
func openDriver(cfg Config, kept *runtimes.Set, ours runtimes.Runtime, templates *template.Templates, net sandbox.Network) (*gvisor.Driver, []string, error) {
	if err := os.MkdirAll(cfg.AgentsDir, 0o755); err != nil {
		return nil, nil, fmt.Errorf("make agents folder: %w", err)
	}
	driver, err := gvisor.New(gvisor.Options{
		Root: filepath.Join(cfg.DataDir, "sandboxes"), RuntimeDir: ours.Inside, RuntimeDigest: ours.Digest,
		Runtimes: kept, AgentsDir: cfg.AgentsDir, Rootfs: templates, Network: net, Logger: cfg.Log,
	})
	if err != nil {
		return nil, nil, fmt.Errorf("open sandbox driver: %w", err)
	}
	var warnings []string
	if warning := net.Warning(); warning != "" {
		warnings = append(warnings, warning)
	}
	if driver.Capabilities().Limits == "" {
		warnings = append(warnings, "limits of CPU and memory are not in force: this host lets us make no cgroups")
	}
	return driver, warnings, nil
}

// serve answers calls until ctx ends.
func serve(ctx context.Context, cfg Config, edge server.Options, l net.Listener, url string, boss supervisor) error {
	calls, endCalls := context.WithCancel(context.WithoutCancel(ctx))
	defer endCalls()
	h := server.HTTP(server.New(edge))
	h.BaseContext = func(net.Listener) context.Context { return calls }
	failed := make(chan error, 1)
	stopped := make(chan struct{})
	go func() { // owned here: Serve returns once h is shut down or closed
		defer close(stopped)
		failed <- h.Serve(server.Listen(l))
	}()
	defer func() { <-stopped }()
	sayf(cfg.Out, "Paddock serves at %s\n", url)
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	boss.tell("STOPPING=1")
	cfg.Log.Info("stopping; sandboxes run on")
	edge.Engine.Leave()
	endCalls()
	patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopPatience)
	defer cancel()
	if err := h.Shutdown(patience); err != nil {
		return h.Close()
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}
