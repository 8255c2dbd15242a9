// Command paddock is everything in one binary: the command line, the server,
// and the sandbox runtime that the server starts itself as.
package main

import (
	"context"
	"errors"
	"os"

	"paddock/internal/cli"
	"paddock/internal/daemon"
	"paddock/internal/demo"
	"paddock/internal/doctor"
	"paddock/internal/engine"
	"paddock/internal/sandbox/gvisor"
)

// version is set by the build (-ldflags -X).
var version = "dev"

func main() {
	// The runtime registers flags of its own and exits by itself: it comes before
	// anything of ours.
	if gvisor.IsRunsc(os.Args) {
		gvisor.RunRunsc()
		return
	}
	os.Exit(cli.Main(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, cli.Hooks{
		Version: version,
		Runtime: "gvisor " + gvisor.Version(),
		Serve:   serve,
		Demo:    showDemo,
		Doctor:  examine,
	}))
}

func serve(ctx context.Context, cfg cli.ServeConfig) error {
	// No child of ours is to see the token.
	if err := os.Unsetenv("PADDOCK_TOKEN"); err != nil {
		return err
	}
	log, err := daemon.NewLogger(cfg.Err, cli.IsTerminal(cfg.Err), cfg.LogLevel, cfg.LogFormat)
	if err != nil {
		return err
	}
	err = daemon.Run(ctx, daemon.Config{
		Version: version, Listen: cfg.Listen, DataDir: cfg.DataDir, TemplateDir: cfg.TemplateDir, AgentsDir: cfg.AgentsDir,
		MaxActiveSessions: cfg.MaxActiveSessions, Pool: cfg.Pool,
		SaveEvery:    cfg.SaveEvery,
		Reserve:      engine.Room{Memory: int64(cfg.MemoryReserve) << 20, Disk: int64(cfg.DiskReserve) << 20},
		HistoryLimit: int64(cfg.HistoryLimit) << 20, HistoryRetention: cfg.HistoryRetention,
		OTLPEndpoint: cfg.OTLPEndpoint,
		DNS:          cfg.DNS, EgressDeny: cfg.EgressDeny, EgressAllow: cfg.EgressAllow, UpstreamCA: cfg.UpstreamCA, Registries: cfg.Registries, Connections: cfg.Connections, Bandwidth: cfg.Bandwidth << 20,
		NotifyURL: cfg.NotifyURL, NotifyCommand: cfg.NotifyCommand,
		Token: cfg.Token, Out: cfg.Out, Log: log,
	})
	var wrong *daemon.MisconfiguredError
	if errors.As(err, &wrong) {
		return cli.Misconfigured(err)
	}
	return err
}

func showDemo(ctx context.Context, cfg cli.DemoConfig) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	return demo.Run(ctx, demo.Options{Out: cfg.Out, Exe: exe, Keep: cfg.Keep})
}

func examine(ctx context.Context, cfg cli.DoctorConfig) (bool, error) {
	exe, err := os.Executable()
	if err != nil {
		return false, err
	}
	return doctor.Run(ctx, doctor.Options{
		Exe: exe, Version: version, URL: cfg.URL, Listen: cfg.Listen, DataDir: cfg.DataDir, TemplateDir: cfg.TemplateDir,
		TokenFile: cfg.TokenFile, Root: cfg.Root, Report: func(c doctor.Check) { cfg.Report(cli.DoctorCheck(c)) },
	})
}
