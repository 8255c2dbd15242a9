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
	WriteTimeout time.Duration // for one page; 0: 30 s

	// Memory bounds what all streams together hold for readers who do not take it,
	// in bytes; when it is used up, who has taken nothing for the longest is cut,
	// and may resume. 0: 64 MiB.
	Memory int
}

// Streams serves streams and knows which device holds which. It is safe for
// concurrent use.
type Streams struct {
	options Options
	devices devices
	held    ledger
}

// New makes a Streams.
func New(options Options) *Streams {
	if options.KeepAlive <= 0 {
		options.KeepAlive = 15 * time.Second
	}
	if options.WriteTimeout <= 0 {
		options.WriteTimeout = 30 * time.Second
	}
	if options.Memory <= 0 {
		options.Memory = 64 << 20
	}
	return &Streams{options: options, held: ledger{limit: options.Memory}}
}

// All streams a history until it is over, the reader leaves or
// ctx ends. An error from before the first byte is the request's (a fault); a
// later one has cut the stream.
func (s *Streams) All(ctx context.Context, w http.ResponseWriter, r *http.Request, log Log, want Request) error {
	part, err := want.span(ctx, log)
	if err != nil {
		return err
	}
	if part.live && want.Device != "" {
		var release func()
		ctx, release = s.devices.take(ctx, log.Name(), want.Device)
		defer release()
	}
	return s.stream(ctx, w, r, log, part)
}

// Run streams the events of one run, and ends with it. With ended, all of them
// are stored.
func (s *Streams) Run(ctx context.Context, w http.ResponseWriter, r *http.Request, log Log, run id.Run, ended bool, want Request) error {
	part := span{live: !ended, until: log.Last(), run: run, raw: want.Raw, kinds: want.Kinds}
	if want.Cursor != "" {
		after, known, err := log.Find(ctx, want.Cursor)
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
	out := newWriter(w, log.Session(), s.options.WriteTimeout, &s.held)
	defer out.close()
	if r.Method == http.MethodHead {
		return nil
	}
	defer context.AfterFunc(ctx, out.hurry)()
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
	for _, e := range part.waiting { // else nobody would answer whom nobody asked
		if part.wants(e) {
			out.event(e, part.raw)
		}
	}
	if err := out.flush(); err != nil {
		return err
	}
	at, known, live := part.after, log.Last(), false
	for {
		ended := log.Ended() // before reading: then what is read is not older
		upTo, over, err := out.page(ctx, log, part, at)
		if err != nil {
			return err
		}
		at = max(at, upTo)
		switch {
		case over:
			return out.comment("end")
		case !part.live && at >= part.until:
			return out.end(part)
		case part.live && !live && at >= known:
			live = true
			if err := out.state(state{State: "live"}); err != nil {
				return err
			}
		}
		if at < log.Last() {
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

// page writes the events that follow a place, as many as are read at once, and
// says up to where that is, and whether the run that the stream is about is over.
func (o *writer) page(ctx context.Context, log Log, part span, after int64) (upTo int64, over bool, err error) {
	events, upTo, err := log.Read(ctx, store.EventPage{
		After: after, Run: part.run, Kinds: part.choice(), Limit: readPage, Bytes: readBytes, Raw: part.raw,
	})
	if err != nil {
		return 0, false, err
	}
	for _, e := range events {
		if !part.live && log.Place(e) > part.until {
			break
		}
		if part.wants(e) {
			o.event(e, part.raw)
		}
		if !part.run.IsZero() && e.Kind.Terminal() {
			over = true
			break
		}
	}
	return upTo, over, o.flush()
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
