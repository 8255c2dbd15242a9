package egress

import (
	"net/netip"
	"strings"
	"sync"
	"time"

	"paddock/internal/sandbox"
)

const (
	// leastMemory is how long an address is known as that of a name at least,
	// whatever its time to live: programs keep what they looked up.
	leastMemory = time.Hour
	// mostKnown bounds the addresses that one machine's gate remembers.
	mostKnown = 8192
	// evictLook is how many of them are looked at when there is no room.
	evictLook = 16
)

// Gate decides for one machine. It is safe for concurrent use.
type Gate struct {
	operator Operator
	now      func() time.Time

	mu    sync.Mutex
	rules sandbox.Egress
	known map[netip.Addr]time.Time // addresses of allowed names, until when
}

// NewGate makes the gate of a machine that may go where rules say.
func NewGate(o Operator, rules sandbox.Egress) *Gate {
	return &Gate{operator: o, now: time.Now, rules: rules, known: map[netip.Addr]time.Time{}}
}

// Govern replaces the rules. What was resolved under other ones is forgotten.
func (g *Gate) Govern(rules sandbox.Egress) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.rules = rules
	clear(g.known)
}

// Name says why a name may not be looked up or spoken to; "" when it may.
func (g *Gate) Name(name string) (why string) {
	name = strings.TrimSuffix(strings.ToLower(name), ".")
	if matches(g.operator.DenyHosts, name) {
		return "the operator of this server denies it"
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.rules.All || matches(g.rules.Hosts, name) {
		return ""
	}
	return "the session's egress does not list it"
}

// NamesDecide says whether the names that connections ask for are looked at.
func (g *Gate) NamesDecide() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.rules.All || len(g.operator.DenyHosts) > 0
}

// Listed says whether the address itself is listed: then no name is asked for.
func (g *Gate) Listed(addr netip.Addr) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return within(g.rules.Nets, addr)
}

// Learn takes note that an allowed name has that address.
func (g *Gate) Learn(addr netip.Addr, ttl time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	if len(g.known) >= mostKnown {
		looked := 0
		for a, until := range g.known { // a few of them, in no order
			if until.Before(now) || len(g.known) >= mostKnown {
				delete(g.known, a)
			}
			if looked++; looked == evictLook {
				break
			}
		}
	}
	g.known[addr] = now.Add(max(ttl, leastMemory))
}

// Exact are the names that the rules list one by one.
func (g *Gate) Exact() (names []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, h := range g.rules.Hosts {
		if !strings.HasPrefix(h, "*.") {
			names = append(names, h)
		}
	}
	return names
}

// Verdict is what Connect says.
type Verdict struct {
	Why     string // "" when the machine may connect
	Unknown bool   // no allowed name is known to have the address (now)
}

// Connect says whether the machine may connect to the port at addr.
func (g *Gate) Connect(protocol string, to netip.AddrPort) Verdict {
	addr := to.Addr()
	for _, c := range closed {
		if c.net.Contains(addr) {
			return Verdict{Why: "it is " + c.what}
		}
	}
	own := thisHost.has(addr)
	switch {
	case within(g.operator.DenyNets, addr):
		return Verdict{Why: "the operator of this server denies it"}
	case own && to.Port() == g.operator.Port:
		return Verdict{Why: "it is this server"}
	case own && !within(g.operator.AllowNets, addr):
		return Verdict{Why: "it is an address of this host"}
	case within(private, addr) && !within(g.operator.AllowNets, addr):
		return Verdict{Why: "it is a private address"}
	}
	quic := protocol == "udp" && to.Port() == 443
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case within(g.rules.Nets, addr):
		return Verdict{}
	case quic && (!g.rules.All || len(g.operator.DenyHosts) > 0):
		return Verdict{Why: "QUIC would hide the name"}
	case g.rules.All:
		return Verdict{}
	case g.known[addr].After(g.now()):
		return Verdict{}
	}
	return Verdict{Why: "no host that the session's egress lists has this address", Unknown: true}
}
