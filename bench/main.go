// Command bench measures what people wait for, through the built program, and
// the same by the sandbox runtime's own command line in the same run, taking
// turns, so that the ratio means something on a noisy machine. It also measures
// what many sessions cost, how work inside a sandbox compares with the same
// work in a container and on the bare host, and what its network does beside a
// veth pair.
//
//	go run ./bench [-program bin/paddock] [-only verbs,history,crowd,density,work,network] [-n 30] [-sessions 300] [-events 5000000] [-raw samples.json]
//
// It needs root, starts a server of its own in a temporary folder on a free
// port, is bounded by -n and -sessions, and leaves nothing behind.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// options is what the flags say.
type options struct {
	program, raw, templates string
	n, sessions, events     int
	groups                  []string
}

// groups are the parts of the bench, in their order.
var groups = []string{"verbs", "history", "crowd", "density", "work", "network"}

func flags() (options, error) {
	var o options
	program := flag.String("program", "bin/paddock", "the built program")
	only := flag.String("only", strings.Join(groups, ","), "what to measure")
	flag.IntVar(&o.n, "n", 30, "samples of each kind")
	flag.IntVar(&o.sessions, "sessions", 300, "sessions of the density group")
	flag.IntVar(&o.events, "events", 5_000_000, "events stored in the crowd group")
	flag.StringVar(&o.raw, "raw", "", "file for all samples, in milliseconds")
	flag.StringVar(&o.templates, "template-dir", "/var/lib/paddock-templates", "folder of root file systems")
	flag.Parse()
	o.groups = strings.Split(*only, ",")
	for _, g := range o.groups {
		if !slices.Contains(groups, g) {
			return o, fmt.Errorf("-only: %q is none of %s", g, strings.Join(groups, ", "))
		}
	}
	var err error
	o.program, err = filepath.Abs(*program)
	return o, err
}

func run(ctx context.Context) (err error) {
	o, err := flags()
	if err != nil {
		return err
	}
	s, err := newServer(ctx, o, "--pool", "0") // what is measured alone is not to have company
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	var verbs table
	for _, group := range o.groups {
		switch group {
		case "verbs":
			err = measureVerbs(ctx, s, o, &verbs)
			verbs.print(os.Stdout)
		case "history":
			err = measureHistory(ctx, s, os.Stdout)
		case "crowd":
			err = measureCrowd(ctx, s, o, os.Stdout)
		case "density":
			err = measureDensity(ctx, s, o.sessions, os.Stdout)
		case "work":
			err = measureWork(ctx, s, o, os.Stdout)
		case "network":
			err = measureNetwork(ctx, s, o, os.Stdout)
		}
		if err != nil {
			return fmt.Errorf("measure %s: %w", group, err)
		}
	}
	if o.raw == "" {
		return nil
	}
	b, err := json.MarshalIndent(verbs.samples(), "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(o.raw, b, 0o644)
}
