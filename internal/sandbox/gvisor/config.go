package gvisor

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"gvisor.dev/gvisor/pkg/log"
	"gvisor.dev/gvisor/runsc/config"
	"gvisor.dev/gvisor/runsc/flag"
)

// runscConfig is the configuration of one machine. The libraries hand it to the
// machine's processes as flags. What a snapshot depends on (directfs, the
// overlay's kind, the network's kind) must stay as it is.
func runscConfig(f folder, nsPath string, p plan) (*config.Config, error) {
	flags := flag.NewFlagSet("runsc", flag.ContinueOnError)
	config.RegisterFlags(flags)
	for _, setting := range [][2]string{
		{"root", f.runsc()},
		{"platform", "systrap"},
		{"network", "sandbox"},
		// The gofer needs no network. Left to itself runsc would keep one empty
		// namespace for all gofers, mounted in its state root.
		{"gofer-network-namespace", nsPath},
		// Everything writable goes there, /tmp included.
		{"overlay2", p.overlay(f)},
		{"directfs", "true"},
		// The guest dials the host's socket; it may not make sockets on the host.
		{"host-uds", "open"},
		// On v1 runsc would move the server itself into the machine's group for
		// a moment: we place the processes ourselves.
		{"ignore-cgroups", "true"},
		{"host-settings", "ignore"},
		{"sidecar-usage-policy", "LEGACY_DEPRECATED_SLOW_EMBEDDED_FALLBACK"},
		// Connections of a saved machine end at once instead of hanging.
		{"allow-live-tcp-migration", "false"},
		{"panic-log", f.panics()},
	} {
		if err := flags.Set(setting[0], setting[1]); err != nil {
			return nil, fmt.Errorf("set %s: %w", setting[0], err)
		}
	}
	conf, err := config.NewFromFlags(flags)
	if err != nil {
		return nil, fmt.Errorf("make runsc configuration: %w", err)
	}
	return conf, nil
}

// logEmitter hands what the runsc libraries say to our log, at level debug:
// they warn of much that is as it should be.
type logEmitter struct{ logger *slog.Logger }

// Emit is gVisor's log.Emitter.
func (e logEmitter) Emit(_ int, _ log.Level, _ time.Time, format string, v ...any) {
	if !e.logger.Enabled(context.Background(), slog.LevelDebug) {
		return
	}
	e.logger.Debug("gvisor: " + strings.TrimSpace(fmt.Sprintf(format, v...)))
}

// setRunscLog sends the libraries' log, of which there is one in a process, to
// logger.
func setRunscLog(logger *slog.Logger) {
	log.SetTarget(logEmitter{logger})
	log.SetLevel(log.Warning)
}
