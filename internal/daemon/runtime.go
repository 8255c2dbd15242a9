package daemon

import (
	"context"
	"fmt"
	"log/slog"

	"paddock/internal/embedded"
	"paddock/internal/runtimes"
	"paddock/internal/sandbox"
	"paddock/internal/sandbox/gvisor"
)

// program is the file of the program that runs, also when it was replaced or
// removed since.
const program = "/proc/self/exe"

// keepRuntime keeps this very build in the data folder, with the programs that
// it puts into sandboxes. Sandboxes of other builds keep theirs.
func keepRuntime(kept *runtimes.Set, version string) (runtimes.Runtime, error) {
	guest, err := embedded.Guest()
	if err != nil {
		return runtimes.Runtime{}, err
	}
	demo, err := embedded.DemoAgent()
	if err != nil {
		return runtimes.Runtime{}, err
	}
	return kept.Keep(program, runtimes.Manifest{Paddock: version, GVisor: gvisor.Version()},
		map[string][]byte{"paddock-guest": guest, "paddock-demo-agent": demo})
}

// pruneRuntimes removes the builds of which no machine is left, ours excepted.
func pruneRuntimes(ctx context.Context, kept *runtimes.Set, ours string, driver sandbox.Driver, log *slog.Logger) error {
	machines, err := driver.Leftovers(ctx)
	if err != nil {
		return fmt.Errorf("find out which runtimes are in use: %w", err)
	}
	inUse := map[string]bool{ours: true}
	for _, handle := range machines {
		inUse[handle.Runtime] = true
	}
	removed, err := kept.Prune(inUse)
	for _, digest := range removed {
		log.Info("runtime removed; no sandbox uses it", "runtime", digest)
	}
	return err
}
