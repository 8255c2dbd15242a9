// Command bench measures what people wait for, through the built program, and
// the same by the sandbox runtime's own command line in the same run, taking
// turns, so that the ratio means something on a noisy machine.
//
//	go run ./bench [-program bin/paddock] [-n 30] [-raw samples.json]
//
// It needs root, starts a server of its own in a temporary folder on a free
// port, is bounded by -n, and leaves nothing behind.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
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

func run(ctx context.Context) (err error) {
	program := flag.String("program", "bin/paddock", "the built program")
	n := flag.Int("n", 30, "samples of each kind")
	raw := flag.String("raw", "", "file for all samples, in milliseconds")
	templates := flag.String("template-dir", "/var/lib/paddock-templates", "folder of root file systems")
	flag.Parse()
	path, err := filepath.Abs(*program)
	if err != nil {
		return err
	}
	s, err := startServer(ctx, path, *templates)
	if err != nil {
		return err
	}
	defer func() {
		if e := s.stop(); err == nil {
			err = e
		}
	}()
	peer, err := newPeer(path, s.dir, *templates)
	if err != nil {
		return err
	}
	defer peer.close()

	var t table
	for _, m := range []struct {
		what string
		run  func(context.Context, *server, *runsc, int, *table) error
	}{
		{"starts", measureStarts}, {"execs", measureExecs}, {"pauses", measurePauses}, {"events", measureEvents},
	} {
		fmt.Fprintf(os.Stderr, "measuring %s…\n", m.what)
		if err := m.run(ctx, s, peer, *n, &t); err != nil {
			return fmt.Errorf("measure %s: %w", m.what, err)
		}
	}
	t.print(os.Stdout)
	if *raw == "" {
		return nil
	}
	b, err := json.MarshalIndent(t.samples(), "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(*raw, b, 0o644)
}
