package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"paddock/client"
)

// The aims are medians on 2 cores, but mostEvent, of which 99 in 100 stay below.
const (
	aimReady   = 110 * time.Millisecond
	aimClaimed = 20 * time.Millisecond
	aimBurst   = 2 * time.Second
	aimExec    = 8 * time.Millisecond
	aimPause   = 5 * time.Millisecond
	aimEvent   = 8 * time.Millisecond
	mostEvent  = 40 * time.Millisecond
)

const spec = "agent: demo\npermissions: {default: allow}\n"

// timed gives how long fn took.
func timed(fn func() error) (time.Duration, error) {
	began := time.Now()
	err := fn()
	return time.Since(began), err
}

// measureVerbs measures what a person waits for at each verb.
func measureVerbs(ctx context.Context, s *server, o options, t *table) error {
	peer, err := newPeer(o.program, s.dir, o.templates)
	if err != nil {
		return err
	}
	defer peer.close()
	for _, m := range []struct {
		what string
		run  func(context.Context, *server, *runsc, int, *table) error
	}{
		{"starts", measureStarts}, {"execs", measureExecs}, {"pauses", measurePauses}, {"events", measureEvents},
	} {
		say("measuring %s", m.what)
		if err := m.run(ctx, s, peer, o.n, t); err != nil {
			return fmt.Errorf("%s: %w", m.what, err)
		}
	}
	return nil
}

// say tells the person at the terminal what is going on.
func say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"…\n", args...) }

// pair starts a session and a peer's sandbox, for measurements that take turns.
func pair(ctx context.Context, s *server, peer *runsc, id string) (session string, end func() error, err error) {
	sess, err := s.api.CreateSession(ctx, []byte(spec), client.CreateOptions{})
	if err != nil {
		return "", nil, err
	}
	if err := s.waitReady(ctx, sess.SessionID); err != nil {
		return "", nil, err
	}
	if err := peer.start(ctx, id); err != nil {
		return "", nil, err
	}
	return sess.SessionID, func() error {
		if err := peer.remove(ctx, id); err != nil {
			return err
		}
		return s.remove(ctx, sess.SessionID)
	}, nil
}

func measureExecs(ctx context.Context, s *server, peer *runsc, n int, t *table) error {
	id, end, err := pair(ctx, s, peer, "bench-exec")
	if err != nil {
		return err
	}
	for range n {
		d, err := timed(func() error { return s.execTrue(ctx, id) })
		if err != nil {
			return err
		}
		t.add("exec /bin/true", aimExec, d)
		if d, err = timed(func() error { return peer.execTrue(ctx, "bench-exec") }); err != nil {
			return err
		}
		t.add("  paddock runsc exec", 0, d)
	}
	return end()
}

func measurePauses(ctx context.Context, s *server, peer *runsc, n int, t *table) error {
	id, end, err := pair(ctx, s, peer, "bench-pause")
	if err != nil {
		return err
	}
	for range n {
		for _, m := range []struct {
			name string
			aim  time.Duration
			do   func() error
		}{
			{"pause", aimPause, func() error { _, err := s.api.Pause(ctx, id); return err }},
			{"resume", aimPause, func() error { return s.api.Resume(ctx, id) }},
			{"  paddock runsc pause", 0, func() error { return peer.verb(ctx, "pause", "bench-pause") }},
			{"  paddock runsc resume", 0, func() error { return peer.verb(ctx, "resume", "bench-pause") }},
		} {
			d, err := timed(m.do)
			if err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
			t.add(m.name, m.aim, d)
		}
	}
	return end()
}

// measureEvents follows one session's stream: the time from an input to the
// first event of its run, and, for every event, from the time it bears (taken
// before its commit) to its arrival.
func measureEvents(ctx context.Context, s *server, peer *runsc, n int, t *table) error {
	sess, err := s.api.CreateSession(ctx, []byte(spec), client.CreateOptions{})
	if err != nil {
		return err
	}
	if err := s.waitReady(ctx, sess.SessionID); err != nil {
		return err
	}
	st, err := s.api.Events(ctx, sess.SessionID, client.EventsOptions{})
	if err != nil {
		return err
	}
	defer st.Close()
	for i := range n {
		began := time.Now()
		run, err := s.api.Input(ctx, sess.SessionID, fmt.Sprintf("hello %d", i))
		if err != nil {
			return err
		}
		for first := true; ; {
			ev, err := st.Next()
			if err != nil {
				return err
			}
			if ev.RunID != run {
				continue
			}
			if first {
				t.add("input → first event", 0, time.Since(began))
				first = false
			}
			t.add("append → delivery", aimEvent, time.Since(ev.Timestamp))
			if ev.Type == "run.completed" {
				break
			}
		}
	}
	return s.remove(ctx, sess.SessionID)
}
