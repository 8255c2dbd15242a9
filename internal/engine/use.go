package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"paddock/internal/fault"
	"paddock/internal/id"
	"paddock/internal/metrics"
	"paddock/internal/sandbox"
	"paddock/internal/tracing"
)

// useAge is how old a reading of what a machine uses may be. However many look,
// a machine's groups are read about twice a second.
const useAge = 500 * time.Millisecond

// use is what a machine used of the host at a moment.
type use struct {
	sandbox.Stats
	At time.Time // zero: it could not be read
}

// meter keeps the last reading of a machine. To read is nobody's activity, and
// wakes nothing: the driver asks the host.
type meter struct {
	mu     sync.Mutex // guards what follows
	last   use
	frozen bool      // it was frozen when it was read,
	thawed time.Time // and had been thawed last at this time
}

// readUse gives what the machine uses. That of a frozen machine does not change,
// and is read once.
func (m *machine) readUse(ctx context.Context) use {
	rest, thawed := m.restSince()
	m.meter.mu.Lock()
	last, same := m.meter.last, m.meter.frozen && m.meter.thawed.Equal(thawed)
	m.meter.mu.Unlock()
	now := time.Now()
	if rest == frozen && same || rest != frozen && now.Sub(last.At) < useAge {
		return last
	}
	stats, err := m.box.Stats(ctx)
	if err != nil {
		return use{}
	}
	m.meter.mu.Lock()
	defer m.meter.mu.Unlock()
	m.meter.last, m.meter.frozen, m.meter.thawed = use{stats, now}, rest == frozen, thawed
	return m.meter.last
}

// Reading is what the engine holds just now, for the metrics: Host is the
// caller's to add. It grows with the machines that run.
func (e *Engine) Reading(ctx context.Context) metrics.Reading {
	r := metrics.Reading{Adopted: e.Adopted()}
	for _, a := range e.allActors() {
		if m := a.attached(); m != nil {
			u := m.readUse(ctx)
			r.Sessions.Memory += u.Memory
			r.Sessions.Disk += u.Disk
		}
	}
	spares, making, wanted := e.pool.holds()
	r.Ready, r.Making, r.Wanted = len(spares), making, wanted
	for _, sp := range spares {
		if stats, err := sp.box.Stats(ctx); err == nil {
			r.Spares.Memory += stats.Memory
			r.Spares.Disk += stats.Disk
		}
	}
	return r
}

// measure notes how long a verb on a session takes, from now until the function
// returned is called, and what came of it; in the context returned is its span. A
// pause that gave way to a run is refused.
func (e *Engine) measure(ctx context.Context, v metrics.Verb, sid id.Session, about ...tracing.Attr) (context.Context, func(err *error)) {
	begin := time.Now()
	ctx, span := e.trace.Start(ctx, string(v), append(about, tracing.Session(sid.String()))...)
	return ctx, func(err *error) {
		outcome := *err
		if errors.Is(outcome, errBusy) {
			outcome = fault.New(fault.Conflict, "%s", errBusy)
		}
		e.metrics.Verb(v, time.Since(begin), outcome)
		span.End(outcome)
	}
}

// holds gives the spares that are ready, how many are being made, and how many
// there are to be.
func (p *pool) holds() (ready []*spare, making, wanted int) {
	if p == nil {
		return nil, 0, 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, sh := range p.stock.shelves {
		ready = append(ready, sh.spares...)
		making += sh.making
		wanted += sh.want
	}
	return ready, making, wanted
}
