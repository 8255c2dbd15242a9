package engine

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// poolTick is how often the pool looks whether it is as it should be.
	poolTick = time.Second
	// poolQuiet is how long no machine has to be starting before a spare is made:
	// a create never waits for the processor because of one that nobody asked for.
	poolQuiet = 150 * time.Millisecond
	// poolPatience is the first wait after a spare that could not be made; it
	// doubles up to poolLongest.
	poolPatience = 2 * time.Second
	poolLongest  = 5 * time.Minute
	// poolShare is the part of the free memory that spares may have: one in so
	// many.
	poolShare = 8
	// poolDrain bounds the end of all spares when the server stops; what is left
	// then is removed by the next one.
	poolDrain = 5 * time.Second
)

// pool keeps spares, so that a create need not wait for a start. A nil pool keeps
// none.
type pool struct {
	engine *Engine
	wake   chan struct{}

	mu     sync.Mutex
	stock  *stock
	closed bool

	// Only run uses these.
	failures  int
	notBefore time.Time
}

func newPool(e *Engine, most int) *pool {
	if most <= 0 {
		return nil
	}
	return &pool{engine: e, wake: make(chan struct{}, 1), stock: newStock(standardKind(), most)}
}

// take gives a spare of the kind, nil when there is none.
func (p *pool) take(k kind) *spare {
	if p == nil || k.template == "" {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	defer p.poke()
	for {
		sp := p.stock.take(k, p.engine.now())
		if sp == nil {
			return nil
		}
		close(sp.taken)
		select {
		case <-sp.box.Done(): // its watcher has not come to it yet
			p.engine.spawn(func(ctx context.Context) { p.engine.destroySpare(context.WithoutCancel(ctx), sp) })
		default:
			return sp
		}
	}
}

// giveBack takes a spare that was not used after all.
func (p *pool) giveBack(sp *spare) {
	sp.taken = make(chan struct{})
	if !p.put(sp) {
		p.engine.destroySpare(context.Background(), sp)
	}
}

// put adds a spare to the stock; false when the pool is closed.
func (p *pool) put(sp *spare) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	sh := p.stock.shelf(sp.kind)
	sh.spares = append(sh.spares, sp)
	taken := sp.taken
	p.engine.crew.start(func() {
		select {
		case <-sp.box.Done():
			p.drop(sp)
		case <-taken:
		}
	})
	return true
}

// drop removes a spare whose machine has ended.
func (p *pool) drop(sp *spare) {
	p.mu.Lock()
	had := p.stock.remove(sp)
	p.mu.Unlock()
	if had {
		p.engine.log.Warn("spare sandbox ended", "sandbox_id", sp.id, "reason", sp.box.Exit().Reason)
		p.engine.destroySpare(context.Background(), sp)
	}
}

// poke makes run look at once.
func (p *pool) poke() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// run keeps the pool as it should be until the engine stops; then it ends all
// spares.
func (p *pool) run() {
	defer p.drain()
	ctx := p.engine.ctx
	tick := time.NewTicker(poolTick)
	defer tick.Stop()
	for ctx.Err() == nil {
		for p.step(ctx) {
		}
		select {
		case <-tick.C:
		case <-p.wake:
		case <-ctx.Done():
		}
	}
}

// step does one thing that is to be done; false when there is none now.
func (p *pool) step(ctx context.Context) bool {
	if ctx.Err() != nil {
		return false
	}
	room, known := p.engine.host.spare()
	p.mu.Lock()
	k, what := p.stock.next(p.engine.now(), p.bound(room, known))
	p.mu.Unlock()
	switch what {
	case stepEnd:
		return p.end(ctx, k)
	case stepMake:
		return p.engine.host.quiet(poolQuiet) && time.Now().After(p.notBefore) && p.make(ctx, k)
	}
	return false
}

// bound is how many spares a host with that much room may have. Locked.
func (p *pool) bound(room Room, known bool) int {
	if !known {
		return p.stock.max
	}
	if room.Disk <= 0 {
		return 0
	}
	memory := room.Memory + int64(p.stock.count())*spareMemory // were there none
	return int(max(memory, 0) / poolShare / spareMemory)
}

func (p *pool) make(ctx context.Context, k kind) bool {
	p.making(k, 1)
	defer p.making(k, -1) // after it is in the stock, so that it counts all the while
	sp, err := p.engine.makeSpare(ctx, k)
	if err == nil {
		p.failures, p.notBefore = 0, time.Time{}
		p.engine.log.Debug("spare sandbox ready", "sandbox_id", sp.id, "template", k.template, "size", k.size.Slug)
		if !p.put(sp) {
			p.engine.destroySpare(context.WithoutCancel(ctx), sp)
		}
		return true
	}
	if ctx.Err() == nil {
		p.notBefore = time.Now().Add(min(poolPatience<<min(p.failures, 16), poolLongest))
		p.failures++
		p.engine.log.Warn("make spare sandbox", "template", k.template, "size", k.size.Slug, "error", err)
	}
	return false
}

func (p *pool) making(k kind, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stock.shelf(k).making += n
}

// end ends the oldest spare of a kind; false when there is none.
func (p *pool) end(ctx context.Context, k kind) bool {
	p.mu.Lock()
	sh := p.stock.shelf(k)
	if len(sh.spares) == 0 {
		p.mu.Unlock()
		return false
	}
	sp := sh.spares[0]
	sh.spares = sh.spares[1:]
	close(sp.taken)
	p.mu.Unlock()
	p.engine.destroySpare(context.WithoutCancel(ctx), sp)
	return true
}

// discard ends the spares of the templates that are doomed, wants no more of them,
// and says of which some are being made.
func (p *pool) discard(ctx context.Context, doomed func(template string) bool) (making []string) {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	var kinds []kind
	for k, sh := range p.stock.shelves {
		if doomed(k.template) {
			sh.want = 0
			kinds = append(kinds, k)
			if sh.making > 0 {
				making = append(making, k.template)
			}
		}
	}
	p.mu.Unlock()
	for _, k := range kinds {
		for p.end(ctx, k) {
		}
	}
	return making
}

// shed ends one spare, of the kind that was asked for longest ago, for its
// memory; false when there is none.
func (p *pool) shed(ctx context.Context) bool {
	if p == nil {
		return false
	}
	p.mu.Lock()
	k, ok := p.stock.stalest(time.Time{})
	p.mu.Unlock()
	return ok && p.end(ctx, k)
}

// drain closes the pool and ends all its spares.
func (p *pool) drain() {
	p.mu.Lock()
	p.closed = true
	var all []*spare
	for _, sh := range p.stock.shelves {
		all = append(all, sh.spares...)
		sh.spares = nil
	}
	for _, sp := range all {
		close(sp.taken)
	}
	p.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), poolDrain)
	defer cancel()
	var g errgroup.Group
	g.SetLimit(adoptAtOnce)
	for _, sp := range all {
		g.Go(func() error { p.engine.destroySpare(ctx, sp); return nil })
	}
	_ = g.Wait() // none fails
}

// size says how many spares are ready.
func (p *pool) size() (n int) {
	if p == nil {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, sh := range p.stock.shelves {
		n += len(sh.spares)
	}
	return n
}
