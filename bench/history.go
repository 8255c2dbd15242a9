package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"paddock/client"
)

// The aims of the history, on 2 cores and a disk that is synced for every commit.
const (
	aimEvents     = 5000   // a second, of one session
	aimAllEvents  = 10_000 // a second, of many
	aimReplay     = 100_000
	manySessions  = 20
	manyStreams   = 1000
	floodCalls    = 20_000 // of the lone session; each tool call is two events
	deliveryCalls = 30     // of each session while the streams listen, five a second
)

// flood is an agent that reports as much as it is told to.
//
//go:embed flood.py
var flood string

// floodSpec is a session's spec with that agent.
func floodSpec() ([]byte, error) {
	program, err := json.Marshal(flood) // JSON is YAML
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "agent: custom\ncommand: [python3, -c, %s]\nidle_timeout: 24h\npermissions: {default: allow}\n", program), nil
}

// measureHistory measures how fast events become part of the history, and come
// out of it.
func measureHistory(ctx context.Context, s *server, out io.Writer) error {
	sessions := make([]string, manySessions)
	spec, err := floodSpec()
	if err != nil {
		return err
	}
	for i := range sessions {
		sess, err := s.api.CreateSession(ctx, spec, client.CreateOptions{})
		if err != nil {
			return err
		}
		if err := s.waitReady(ctx, sess.SessionID); err != nil {
			return err
		}
		sessions[i] = sess.SessionID
		if _, err := s.flood(ctx, sess.SessionID, "1"); err != nil { // its agent is up
			return err
		}
	}
	say("flooding one session")
	alone, err := s.flood(ctx, sessions[0], fmt.Sprint(floodCalls))
	if err != nil {
		return err
	}
	say("one session: %d events, %.0f a second", alone.events, alone.perSecond())
	say("reading it again")
	began := time.Now()
	replayed, err := s.drain(ctx, sessions[0], client.EventsOptions{ReplayOnly: true})
	if err != nil {
		return err
	}
	took := time.Since(began)
	say("flooding %d sessions", manySessions)
	all, err := s.floodAll(ctx, sessions)
	if err != nil {
		return err
	}
	say("listening with %d streams", manyStreams)
	var t table
	if err := s.measureDelivery(ctx, sessions, &t); err != nil {
		return err
	}
	fmt.Fprintf(out, "\nhistory\n")
	rate(out, "events of one session, each second", alone.perSecond(), aimEvents)
	rate(out, fmt.Sprintf("events of %d sessions, each second", manySessions), all.perSecond(), aimAllEvents)
	rate(out, fmt.Sprintf("events read again, each second, of %d", replayed), float64(replayed)/took.Seconds(), aimReplay)
	t.print(out)
	return nil
}

func rate(out io.Writer, what string, have, aim float64) {
	verdict := "reached"
	if have < aim {
		verdict = "missed"
	}
	fmt.Fprintf(out, "  %-50s %8.0f   aim ≥ %6.0f  %s\n", what, have, aim, verdict)
}

// stretch is a number of events and when they became part of a history.
type stretch struct {
	events      int
	first, last time.Time
}

func (s stretch) perSecond() float64 { return float64(s.events) / s.last.Sub(s.first).Seconds() }

// with is both stretches as one.
func (s stretch) with(more stretch) stretch {
	if s.events == 0 {
		return more
	}
	s.events += more.events
	if more.first.Before(s.first) {
		s.first = more.first
	}
	if more.last.After(s.last) {
		s.last = more.last
	}
	return s
}

// flood sends the prompt and gives what the run left in the history.
func (s *server) flood(ctx context.Context, session, prompt string) (stretch, error) {
	run, err := s.api.Input(ctx, session, prompt)
	if err != nil {
		return stretch{}, err
	}
	st, err := s.api.Events(ctx, session, client.EventsOptions{Run: run})
	if err != nil {
		return stretch{}, err
	}
	defer st.Close()
	var all stretch
	for {
		ev, err := st.Next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		if all.events == 0 {
			all.first = ev.Timestamp
		}
		all.events++
		all.last = ev.Timestamp
		if ev.Type == "run.failed" {
			return all, fmt.Errorf("the agent failed: %s", ev.Data)
		}
	}
}

func (s *server) floodAll(ctx context.Context, sessions []string) (all stretch, err error) {
	var mu sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	for _, one := range sessions {
		g.Go(func() error {
			own, err := s.flood(ctx, one, fmt.Sprint(floodCalls/4))
			mu.Lock()
			defer mu.Unlock()
			all = all.with(own)
			return err
		})
	}
	return all, g.Wait()
}

// drain reads a stream to its end and says how many events it had.
func (s *server) drain(ctx context.Context, session string, options client.EventsOptions) (n int, err error) {
	st, err := s.api.Events(ctx, session, options)
	if err != nil {
		return 0, err
	}
	defer st.Close()
	for {
		_, err := st.Next()
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
		n++
	}
}

// measureDelivery measures how long after its commit an event is with a reader,
// while many others listen to the same sessions.
func (s *server) measureDelivery(ctx context.Context, sessions []string, t *table) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for _, one := range sessions { // a stream begins with the last run: it is to be small
		if _, err := s.flood(ctx, one, "1"); err != nil {
			return err
		}
	}
	var idle errgroup.Group
	for i := range manyStreams - len(sessions) {
		st, err := s.api.Events(ctx, sessions[i%len(sessions)], client.EventsOptions{Types: []string{"run.tool_call_started"}})
		if err != nil {
			return err
		}
		idle.Go(func() error {
			defer st.Close()
			for {
				if _, err := st.Next(); err != nil {
					return nil // the end of the measurement
				}
			}
		})
	}
	var mu sync.Mutex
	var g errgroup.Group
	for _, one := range sessions {
		run, err := s.api.Input(ctx, one, fmt.Sprintf("%d 1", deliveryCalls))
		if err != nil {
			return err
		}
		g.Go(func() error {
			st, err := s.api.Events(ctx, one, client.EventsOptions{Run: run})
			if err != nil {
				return err
			}
			defer st.Close()
			for {
				ev, err := st.Next()
				if errors.Is(err, io.EOF) {
					return nil
				}
				if err != nil {
					return err
				}
				late := time.Since(ev.Timestamp)
				if !strings.HasPrefix(ev.Type, "run.tool_call") {
					continue
				}
				mu.Lock()
				t.addBound(fmt.Sprintf("append → delivery, %d streams", manyStreams), aimEvent, mostEvent, late)
				mu.Unlock()
			}
		})
	}
	err := g.Wait()
	stop()
	return errors.Join(err, idle.Wait())
}
