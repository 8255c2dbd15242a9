package sse

import (
	"context"
	"errors"
	"net/http"
	"time"

	"paddock/internal/id"
	"paddock/internal/store"
)

// Options are the times of streams.
type Options struct {
	KeepAlive    time.Duration // between comments on a quiet stream; 0: 15 s
	WriteTimeout time.Duration // for one frame; 0: 30 s
}

// Streams serves streams and knows which device holds which. It is safe for
// concurrent use.
type Streams struct {
	options Options
	devices devices
}

// New makes a Streams.
func New(options Options) *Streams {
	if options.KeepAlive <= 0 {
		options.KeepAlive = 15 * time.Second
	}
	if options.WriteTimeout <= 0 {
		options.WriteTimeout = 30 * time.Second
	}
	return &Streams{options: options}
}

// Session streams a session's history until it is over, the reader leaves or
// ctx ends. An error from before the first byte is the request's (a fault); a
// later one has cut the stream.
func (s *Streams) Session(ctx context.Context, w http.ResponseWriter, r *http.Request, log Log, want Request) error {
	part, err := want.span(ctx, log)
	if err != nil {
		return err
	}
	if part.live && want.Device != "" {
		var release func()
		ctx, release = s.devices.take(ctx, log.Session(), want.Device)
		defer release()
	}
	return s.stream(ctx, w, r, log, part)
}

// Run streams the events of one run, and ends with it. With ended, all of them
// are stored.
func (s *Streams) Run(ctx context.Context, w http.ResponseWriter, r *http.Request, log Log, run id.Run, ended bool, want Request) error {
	part := span{live: !ended, run: run, raw: want.Raw}
	if want.Cursor != "" {
		after, known, err := log.Seq(ctx, want.Cursor)
		if err != nil {
			return err
		}
		part.after, part.truncated = after, !known
		if known {
			part.cursor = want.Cursor
		}
	}
	return s.stream(ctx, w, r, log, part)
}

func (s *Streams) stream(ctx context.Context, w http.ResponseWriter, r *http.Request, log Log, part span) error {
	out := newWriter(w, log.Session(), s.options.WriteTimeout)
	defer out.close()
	if r.Method == http.MethodHead {
		return nil
	}
	err := s.write(ctx, out, log, part)
	switch {
	case errors.Is(context.Cause(ctx), errSuperseded):
		return out.state(state{State: "superseded"})
	case ctx.Err() != nil:
		return nil // the reader left, or the server stops
	}
	return err
}

// write gives a part of the history, and what follows.
func (s *Streams) write(ctx context.Context, out *writer, log Log, part span) error {
	if err := out.comment("connected"); err != nil {
		return err
	}
	if err := out.state(state{State: "catching_up", Cursor: part.cursor, Truncated: part.truncated}); err != nil {
		return err
	}
	at, known, live := part.after, log.Last(), false
	for {
		ended, head := log.Ended(), log.Last() // before reading: then what is read is not older
		events, err := log.Read(ctx, store.EventPage{After: at, Run: part.run, Limit: readPage, Raw: part.raw})
		if err != nil {
			return err
		}
		for _, e := range events {
			if part.past(e.Seq) {
				break
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := out.event(e, part.raw); err != nil {
				return err
			}
			at = e.Seq
			if !part.run.IsZero() && e.Kind.Terminal() {
				return out.comment("end")
			}
		}
		full := len(events) == readPage
		if !full {
			at = max(at, head) // also past what is not the run's
		}
		switch {
		case part.live && !live && at >= known:
			live = true
			if err := out.state(state{State: "live"}); err != nil {
				return err
			}
		case !part.live && (!full || part.past(at+1)):
			return out.end(part)
		}
		if full {
			continue
		}
		if ended {
			return out.comment("end")
		}
		if err := s.wait(ctx, out, log.Changed(at)); err != nil {
			return err
		}
	}
}

// past says whether seq lies after the end of a part.
func (part span) past(seq int64) bool {
	return !part.live && part.run.IsZero() && seq > part.until
}

// wait returns when something is new, and keeps the connection open meanwhile.
func (s *Streams) wait(ctx context.Context, out *writer, changed <-chan struct{}) error {
	idle := time.NewTicker(s.options.KeepAlive)
	defer idle.Stop()
	for {
		select {
		case <-changed:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-idle.C:
			if err := out.comment("keep-alive"); err != nil {
				return err
			}
		}
	}
}
