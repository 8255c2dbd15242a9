package gateway

import (
	"sync"

	"golang.org/x/time/rate"

	"paddock/internal/sandbox"
)

// limits are what one machine may have open and move.
type limits struct {
	up, down *rate.Limiter
	width    int // bytes in a second each way, when rules say nothing; 0: no limit

	mu     sync.Mutex
	closed bool
	busy   int // flows of all kinds, those that ask for names included
	most   int
	own    int // flows that ask for no names
	limit  int // of own
}

func newLimits(connections, bandwidth int, rules sandbox.Egress) *limits {
	l := &limits{
		up: rate.NewLimiter(rate.Inf, copyBuffer), down: rate.NewLimiter(rate.Inf, copyBuffer), width: bandwidth, most: connections,
	}
	l.set(rules)
	return l
}

// set bounds the machine as the rules say, as far as that is less than it was
// given. Connections that are open stay.
func (l *limits) set(rules sandbox.Egress) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.limit = l.most
	if n := rules.Connections; n > 0 {
		l.limit = min(n, l.most)
	}
	width := int64(l.width)
	if n := rules.Bandwidth; n > 0 && (width <= 0 || n < width) {
		width = n
	}
	for _, way := range []*rate.Limiter{l.up, l.down} {
		if width <= 0 {
			way.SetLimit(rate.Inf)
			continue
		}
		way.SetBurst(int(max(width/8, copyBuffer)))
		way.SetLimit(rate.Limit(width))
	}
}

// enter counts a flow in the making, which may be one that asks for names; false
// when the machine has too many. The session's limit is not for names: without
// one no connection could be made at all.
func (l *limits) enter(names bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.busy >= l.most || !names && l.own >= l.limit {
		return false
	}
	l.busy++
	if !names {
		l.own++
	}
	return true
}

func (l *limits) exit(names bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy--
	if !names {
		l.own--
	}
}

// close lets no flow in any more.
func (l *limits) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
}
