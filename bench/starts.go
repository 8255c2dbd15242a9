package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"paddock/client"
)

// burst is how many creates come at once.
const burst = 20

// measureStarts measures creates of a server with spare sandboxes, of one without
// and of the runtime alone, in turns; and bursts of creates.
func measureStarts(ctx context.Context, s *server, peer *runsc, n int, t *table) (err error) {
	pooled, err := newServer(ctx, s.options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pooled.stop()) }()
	for i := range n {
		if err := pooled.waitSpares(ctx, 1); err != nil {
			return err
		}
		if err := pooled.measureCreate(ctx, " (pool)", aimClaimed, t); err != nil {
			return err
		}
		if err := pooled.waitSpares(ctx, 1); err != nil {
			return err
		}
		if err := s.measureCreate(ctx, " (cold)", aimReady, t); err != nil {
			return err
		}
		id := fmt.Sprintf("bench-start-%03d", i)
		d, err := timed(func() error {
			if err := peer.start(ctx, id); err != nil {
				return err
			}
			return peer.execTrue(ctx, id)
		})
		if err != nil {
			return err
		}
		t.add("  paddock runsc run + exec", 0, d)
		if err := peer.remove(ctx, id); err != nil {
			return err
		}
	}
	for _, b := range []struct {
		name   string
		server *server
		aim    time.Duration
	}{
		{"20 creates at once, all ready (pool)", pooled, aimBurst},
		{"20 creates at once, all ready (pool, after a burst)", pooled, aimBurst},
		{"20 creates at once, all ready (cold)", s, 0},
	} {
		if err := pooled.waitSpares(ctx, 1); err != nil {
			return err
		}
		d, err := b.server.createMany(ctx)
		if err != nil {
			return err
		}
		t.add(b.name, b.aim, d)
	}
	return nil
}

// measureCreate makes a session, asks it something, and removes it.
func (s *server) measureCreate(ctx context.Context, how string, aim time.Duration, t *table) error {
	began := time.Now()
	sess, err := s.api.CreateSession(ctx, []byte(spec), client.CreateOptions{})
	if err != nil {
		return err
	}
	if err := s.waitReady(ctx, sess.SessionID); err != nil {
		return err
	}
	t.add("create → ready"+how, aim, time.Since(began))
	if err := s.execTrue(ctx, sess.SessionID); err != nil {
		return err
	}
	t.add("create → first exec answer"+how, 0, time.Since(began))
	return s.remove(ctx, sess.SessionID)
}

// createMany makes a burst of sessions and gives the time until the last is ready.
func (s *server) createMany(ctx context.Context) (took time.Duration, err error) {
	ids := make([]string, burst)
	took, err = timed(func() error {
		g, ctx := errgroup.WithContext(ctx)
		for i := range ids {
			g.Go(func() error {
				sess, err := s.api.CreateSession(ctx, []byte(spec), client.CreateOptions{})
				if err != nil {
					return err
				}
				ids[i] = sess.SessionID
				return s.waitReady(ctx, sess.SessionID)
			})
		}
		return g.Wait()
	})
	for _, id := range ids {
		if id != "" {
			err = errors.Join(err, s.remove(ctx, id))
		}
	}
	return took, err
}

// waitSpares waits until there are at least so many spares and no more come.
func (s *server) waitSpares(ctx context.Context, least int) error {
	last, since := -1, time.Now()
	return s.until(ctx, "the pool is filled", func() (bool, error) {
		n, err := s.spares()
		if err != nil {
			return false, err
		}
		if n != last {
			last, since = n, time.Now()
		}
		return n >= least && time.Since(since) > 3*time.Second, nil
	})
}

// spares counts the started sandboxes whose owner's file is empty.
func (s *server) spares() (n int, err error) {
	owners, err := filepath.Glob(filepath.Join(s.dataDir(), "sandboxes", "*", "run", "session-id"))
	for _, path := range owners {
		text, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, err
		}
		if strings.TrimSpace(string(text)) == "" {
			n++
		}
	}
	return n, err
}
