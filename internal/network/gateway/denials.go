package gateway

import (
	"fmt"
	"sync"
	"time"

	"paddock/internal/sandbox"
)

const (
	// sameAgain is for how long one denial stands for all that are like it.
	sameAgain = time.Minute
	// mostDenials is how many different ones are told in that time.
	mostDenials = 30
)

// denials tells of what was refused: of a thing that is tried over and over, once
// in a while, with how often.
type denials struct {
	tell func(sandbox.Denial)

	mu     sync.Mutex
	seen   map[string]int // by what was refused: how often since it was told
	told   int            // since from
	beyond int            // that were not told because there were too many different ones
	from   time.Time
	closed bool
}

func newDenials(tell func(sandbox.Denial)) *denials {
	if tell == nil {
		tell = func(sandbox.Denial) {}
	}
	return &denials{tell: tell, seen: map[string]int{}}
}

// deny tells that the machine was refused.
func (g *Gateway) deny(protocol, host string, port uint16, why string) {
	g.denials.add(sandbox.Denial{Protocol: protocol, Host: host, Port: int(port), Why: why}, time.Now())
}

func (d *denials) add(one sandbox.Denial, now time.Time) {
	key := fmt.Sprintf("%s %s %d", one.Protocol, one.Host, one.Port)
	d.mu.Lock()
	defer d.mu.Unlock()
	if now.Sub(d.from) >= sameAgain {
		one.More = d.seen[key] + d.beyond
		clear(d.seen)
		d.told, d.beyond, d.from = 0, 0, now
	}
	_, known := d.seen[key]
	switch {
	case known:
		d.seen[key]++
	case d.told >= mostDenials:
		d.beyond++
	case !d.closed:
		d.seen[key] = 0
		d.told++
		d.tell(one)
	}
}

func (d *denials) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
}
