package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"paddock/internal/network/broker"
	"paddock/internal/network/egress"
)

// errSpoke says that a host spoke or went before it was asked, so that it does
// not speak what it was taken to.
var errSpoke = errors.New("the host spoke first")

// brokers says whether a connection asks for a host that the machine has secrets
// of, in a way in which they can be put in.
func (g *Gateway) brokers(hello egress.Hello) bool {
	return hello.Name != "" && hello.Protocol != "" && g.broker.Has(hello.Name)
}

// halt has the bytes from outside wait, so that somebody else can read them.
func (f *flow) halt(halted <-chan struct{}) error {
	f.halting.Store(true)
	_ = f.outside.SetReadDeadline(time.Unix(1, 0))
	<-halted
	if !f.untouched {
		return errSpoke
	}
	return f.outside.SetReadDeadline(time.Time{})
}

// serveBrokered has the broker answer the machine. The connection to the host
// that is open already is used first.
func (g *Gateway) serveBrokered(f *flow, to netip.AddrPort, o opening) {
	hello := o.hello
	var open atomic.Pointer[net.TCPConn]
	open.Store(f.outside)
	g.broker.Serve(g.ctx, broker.Connection{
		Inside: &replayed{Conn: f.inside, ctx: g.ctx, first: o.bytes, up: g.limits.up, down: g.limits.down},
		Host:   hello.Name, TLS: hello.Protocol == "tls",
		Dial: func(ctx context.Context) (net.Conn, error) {
			at, err := g.whereIs(ctx, hello, to)
			if err != nil {
				return nil, err
			}
			if at == to {
				if conn := open.Swap(nil); conn != nil {
					return conn, nil
				}
			}
			dialer := net.Dialer{Timeout: dialPatience}
			return dialer.DialContext(ctx, "tcp4", at.String())
		},
		Denied: func(why string) { g.deny("tcp", hello.Name, to.Port(), why) },
	})
}

// whereIs gives the address to speak to for a host. With TLS it is the one that
// the machine has chosen, for the host shows who it is. Without, it is one that
// the name has, as we look it up: else the machine could have the secrets sent
// anywhere.
func (g *Gateway) whereIs(ctx context.Context, hello egress.Hello, to netip.AddrPort) (netip.AddrPort, error) {
	if hello.Protocol == "tls" {
		if why := g.mayConnect("tcp", to); why != "" {
			return to, fmt.Errorf("%s is refused: %s", to, why)
		}
		return to, nil
	}
	addrs, err := g.resolver.addresses(ctx, hello.Name)
	if err != nil {
		return to, fmt.Errorf("look %s up: %w", hello.Name, err)
	}
	var why error
	for i, addr := range append([]netip.Addr{to.Addr()}, addrs...) {
		at := netip.AddrPortFrom(addr, to.Port())
		switch {
		case i == 0 && !slices.Contains(addrs, addr): // the machine's choice, if it is one of them
		case g.gate.Connect("tcp", at).Why != "":
			why = fmt.Errorf("%s is refused: %s", at, g.gate.Connect("tcp", at).Why)
		default:
			return at, nil
		}
	}
	if why == nil {
		why = fmt.Errorf("%s has no address", hello.Name)
	}
	return to, why
}

// replayed is the machine's end of a connection from its first byte on, no faster
// than the limits.
type replayed struct {
	net.Conn
	ctx      context.Context // ends the waiting for the limits
	first    []byte
	up, down *rate.Limiter
}

// Read is part of net.Conn.
func (r *replayed) Read(b []byte) (n int, err error) {
	b = b[:min(len(b), copyBuffer)]
	if len(r.first) > 0 {
		n = copy(b, r.first)
		r.first = r.first[n:]
	} else if n, err = r.Conn.Read(b); n == 0 {
		return 0, err
	}
	if r.up != nil {
		if err := r.up.WaitN(r.ctx, n); err != nil {
			return 0, err
		}
	}
	return n, err
}

// Write is part of net.Conn.
func (r *replayed) Write(b []byte) (n int, err error) {
	for err == nil && n < len(b) {
		piece := b[n:min(len(b), n+copyBuffer)]
		if r.down != nil {
			if err := r.down.WaitN(r.ctx, len(piece)); err != nil {
				return n, err
			}
		}
		var wrote int
		wrote, err = r.Conn.Write(piece)
		n += wrote
	}
	return n, err
}
