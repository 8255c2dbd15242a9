package gateway

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"
	"gvisor.dev/gvisor/pkg/waiter"
)

const (
	// udpQuiet ends a UDP flow over which nothing came.
	udpQuiet = 60 * time.Second
	// maxDatagram is the longest UDP payload.
	maxDatagram = 65507
)

// tooMany is why a flow is refused that the machine has no room for.
const tooMany = "the sandbox has too many connections open"

// takeUDP is called for the first datagram of a flow, on the way of all others:
// it may not wait. False has the machine told that the port is unreachable.
func (g *Gateway) takeUDP(r *udp.ForwarderRequest) bool {
	id := r.ID()
	to := fromStack(id.LocalAddress, id.LocalPort)
	names := to == resolverAddr
	if !names {
		v := g.gate.Connect("udp", to)
		if v.Unknown { // as TCP has it, but nothing waits here: the next datagram finds what was learnt
			g.lookAgain()
		}
		why := v.Why
		if why == "" && to.Port() == 443 && g.broker.Any() {
			why = "QUIC would hide requests that brokered secrets are for"
		}
		if why != "" {
			g.deny("udp", to.Addr().String(), to.Port(), why)
			return false
		}
	}
	if !g.limits.enter(names) {
		g.deny("udp", to.Addr().String(), to.Port(), tooMany)
		return false
	}
	var queue waiter.Queue
	end, err := r.CreateEndpoint(&queue)
	if err != nil {
		g.limits.exit(names)
		return true
	}
	inside := gonet.NewUDPConn(&queue, end)
	serve := func() { g.carryUDP(inside, to) }
	if names {
		serve = func() { g.serveUDPNames(inside) }
	}
	if !g.begin(func() { defer g.limits.exit(names); defer inside.Close(); serve() }) {
		inside.Close()
		g.limits.exit(names)
	}
	return true
}

// datagrams are of maxDatagram bytes.
var datagrams = sync.Pool{New: func() any { b := make([]byte, maxDatagram); return &b }}

// carryUDP hands datagrams on, both ways, until none came for a while.
func (g *Gateway) carryUDP(inside *gonet.UDPConn, to netip.AddrPort) {
	outside, err := net.DialUDP("udp4", nil, net.UDPAddrFromAddrPort(to))
	if err != nil {
		return
	}
	stop := func() { _ = outside.Close(); _ = inside.Close() }
	defer stop()
	defer context.AfterFunc(g.ctx, stop)()
	var heard quiet
	heard.touch()
	var both sync.WaitGroup
	both.Go(func() { defer stop(); g.relay(outside, inside, &heard, true) })
	both.Go(func() { defer stop(); g.relay(inside, outside, &heard, false) })
	both.Wait()
}

// relay moves datagrams one way. Those beyond the bandwidth are dropped, as
// networks do.
func (g *Gateway) relay(to, from net.Conn, heard *quiet, up bool) {
	b := datagrams.Get().(*[]byte)
	defer datagrams.Put(b)
	limit := g.limits.down
	if up {
		limit = g.limits.up
	}
	for {
		_ = from.SetReadDeadline(time.Now().Add(heard.left()))
		n, err := from.Read(*b)
		if errors.Is(err, os.ErrDeadlineExceeded) && heard.left() > 0 {
			continue // the other direction is in use
		}
		if err != nil {
			return
		}
		heard.touch()
		if !limit.AllowN(time.Now(), n) {
			continue
		}
		if _, err := to.Write((*b)[:n]); err != nil {
			return
		}
	}
}

// quiet is how long nothing was heard of a flow.
type quiet struct {
	mu   sync.Mutex
	last time.Time
}

func (q *quiet) touch() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.last = time.Now()
}

func (q *quiet) left() time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	return udpQuiet - time.Since(q.last)
}
