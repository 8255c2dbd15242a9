package engine

import (
	"context"
	"fmt"
	"sync"
	"time"

	"paddock/internal/fault"
)

// What starting a session takes of the host. An idle spare was measured at about
// 20 MiB (kernel 9, gofer 7, the guest and what the host keeps of it 4); the rest
// is room for an agent to start. What it uses later is not counted: sizes are
// overcommitted.
const (
	startMemory = 60 << 20 // bytes of memory
	spareMemory = 24 << 20 // the part of it that a spare has taken already
	startDisk   = 16 << 20 // bytes of disk, for its first writes
)

// admitAgain is when a refused create is worth another try.
const admitAgain = 15 * time.Second

// Room is what a host has free, or is to keep free, in bytes.
type Room struct{ Memory, Disk int64 }

// host knows what is free on this host, and counts the machines being started,
// which have not taken yet what they need.
type host struct {
	free    func() (Room, error) // nil: nobody knows, and everything fits
	reserve Room

	mu       sync.Mutex
	starting int
	promised int64     // bytes of memory for those
	busy     time.Time // one was starting last
}

// spare is what is free beside the reserve and what was promised; known is false
// when nobody knows.
func (h *host) spare() (room Room, known bool) {
	if h.free == nil {
		return Room{}, false
	}
	room, err := h.free()
	if err != nil {
		return Room{}, false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return Room{Memory: room.Memory - h.reserve.Memory - h.promised, Disk: room.Disk - h.reserve.Disk - int64(h.starting)*startDisk}, true
}

// quiet says that no machine has been starting for a while.
func (h *host) quiet(since time.Duration) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.starting == 0 && time.Since(h.busy) >= since
}

func (h *host) promise(memory int64, n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.starting += n
	h.promised += int64(n) * memory
	h.busy = time.Now()
}

// place is room on this host for one machine, from the create until the machine
// is up.
type place struct {
	engine  *Engine
	memory  int64
	spare   *spare // that is to become the machine; nil: one has to be started
	refused error  // there is no room
	once    sync.Once
}

// makePlace takes a spare, where there is one of the kind, and counts the machine
// as starting until leave.
func (e *Engine) makePlace(ctx context.Context, k kind) *place {
	p := &place{engine: e, spare: e.pool.take(k), memory: startMemory}
	if p.spare != nil {
		p.memory -= spareMemory
	}
	e.host.promise(p.memory, 1)
	p.refused = e.fits(ctx, p.memory)
	return p
}

// claimed gives the spare to the caller.
func (p *place) claimed() *spare {
	sp := p.spare
	p.spare = nil
	return sp
}

// leave ends the counting; a spare that nobody has claimed goes back.
func (p *place) leave() {
	p.once.Do(func() {
		p.engine.host.promise(p.memory, -1)
		if sp := p.claimed(); sp != nil {
			p.engine.pool.giveBack(sp)
		}
	})
}

// fits says whether what is promised fits on the host. Spares give way when
// memory is short.
func (e *Engine) fits(ctx context.Context, memory int64) error {
	for {
		left, known := e.host.spare()
		switch {
		case !known:
			return nil
		case left.Disk < 0:
			return e.full("disk", left.Disk+startDisk+e.host.reserve.Disk, startDisk, e.host.reserve.Disk)
		case left.Memory >= 0:
			return nil
		case !e.pool.shed(ctx):
			return e.full("memory", left.Memory+memory+e.host.reserve.Memory, memory, e.host.reserve.Memory)
		}
	}
}

// full refuses a create; free is what is free beside what is starting.
func (e *Engine) full(what string, free, need, reserve int64) error {
	f := fault.New(fault.Unavailable, "this host has %s of %s free for new sessions; one needs about %s beside a reserve of %s; remove sessions or free some %s, then try again",
		mib(free), what, mib(need), mib(reserve), what)
	f.RetryAfter = admitAgain
	return f
}

func mib(bytes int64) string { return fmt.Sprintf("%d MiB", max(bytes, 0)>>20) }
