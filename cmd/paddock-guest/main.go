// Command paddock-guest is pid 1 of a sandbox: see package guest.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"golang.org/x/sys/unix"

	"paddock/internal/guest"
	"paddock/internal/guest/adapter/acp"
	"paddock/internal/guest/adapter/claude"
	"paddock/internal/guest/adapter/codex"
	"paddock/internal/guest/proc"
)

func main() {
	if err := mode(os.Args[1:])(); err != nil {
		fmt.Fprintln(os.Stderr, "paddock-guest:", err)
		os.Exit(1)
	}
}

// mode is what the program is for, by its first argument: the daemon, or what
// stands between it and the programs that it starts.
func mode(args []string) func() error {
	switch {
	case len(args) == 0:
		return serve
	case args[0] == guest.LaunchWord:
		return func() error { return proc.Launch(args[1:]) }
	case args[0] == codex.HookWord:
		return func() error { return codex.Hook(os.Stdin, os.Stdout) }
	case args[0] == codex.GateWord && len(args) == 2:
		return func() error { return codex.Gate(args[1]) }
	}
	return serve
}

func serve() error {
	// Every thread, so every process of the machine: no program can gain
	// privileges by being executed.
	if _, _, errno := syscall.AllThreadsSyscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0); errno != 0 {
		return fmt.Errorf("set no_new_privs: %w", errno)
	}
	agentTasks, err := guest.LimitTasks()
	if err != nil {
		return err
	}
	unix.Umask(0o022)
	if err := os.Chdir("/"); err != nil {
		return fmt.Errorf("go to /: %w", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGTERM, unix.SIGINT)
	defer stop()
	options := guest.Defaults(build(), agentTasks, map[string]guest.NewAdapter{"acp": acp.New, "claude": claude.New, "codex": codex.New})
	options.Log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelInfo}))
	d := guest.New(options)
	d.Run(ctx)
	d.Close()
	return nil
}

// build names this build to the host.
func build() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return info.Main.Version + " " + s.Value
		}
	}
	return info.Main.Version
}
