package gateway

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"
)

const (
	// dialPatience is how long a host outside may take to accept.
	dialPatience = 30 * time.Second
	// helloPatience is how long a connection may take to say whom it asks for.
	helloPatience = 30 * time.Second
	// copyBuffer is what is moved at once.
	copyBuffer = 128 << 10
)

// flow is one TCP connection that is handed on.
type flow struct {
	inside  *gonet.TCPConn
	end     tcpip.Endpoint // of inside
	outside *net.TCPConn
	once    sync.Once
	// answered is told whether the server switches protocols, once it begins to
	// answer; see pass.
	answered chan bool

	halting   atomic.Bool // see halt
	untouched bool        // nothing came from outside until it was halted
}

// abort ends both halves at once; who has the connection open inside is told.
func (f *flow) abort() {
	f.once.Do(func() {
		f.end.Abort()
		_ = f.outside.SetLinger(0)
		_ = f.outside.Close()
	})
}

// takeTCP is called, by a goroutine of its own, for each connection that the
// machine wants to make.
func (g *Gateway) takeTCP(r *tcp.ForwarderRequest) {
	if !g.begin(func() { g.serveTCP(r) }) {
		r.Complete(true)
		return
	}
}

func (g *Gateway) serveTCP(r *tcp.ForwarderRequest) {
	id := r.ID()
	to := fromStack(id.LocalAddress, id.LocalPort)
	if to == resolverAddr {
		g.serveTCPNames(r)
		return
	}
	if !g.limits.enter(false) {
		r.Complete(true)
		g.deny("tcp", to.Addr().String(), to.Port(), tooMany)
		return
	}
	defer g.limits.exit(false)
	if why := g.mayConnect("tcp", to); why != "" {
		r.Complete(true)
		g.deny("tcp", to.Addr().String(), to.Port(), why)
		return
	}
	// The machine learns that it is connected when it is.
	dialer := net.Dialer{Timeout: dialPatience}
	conn, err := dialer.DialContext(g.ctx, "tcp4", to.String())
	if err != nil {
		r.Complete(true)
		return
	}
	slot, ok := g.flows.add(tuple{id.RemotePort, to})
	if !ok {
		conn.Close()
		r.Complete(true)
		return
	}
	defer g.flows.remove(slot)
	var queue waiter.Queue
	end, failed := r.CreateEndpoint(&queue)
	r.Complete(false)
	if failed != nil {
		conn.Close()
		return
	}
	end.SocketOptions().SetDelayOption(false)
	f := &flow{inside: gonet.NewTCPConn(&queue, end), end: end, outside: conn.(*net.TCPConn), answered: make(chan bool, 1)}
	if !g.hold(f) {
		f.abort()
		return
	}
	defer g.drop(f)
	g.carry(f, to)
}

// mayConnect asks the gate. For an address of which it knows no name, the names
// that are listed are looked up once more: a server that was started anew has
// forgotten what an earlier one resolved.
func (g *Gateway) mayConnect(protocol string, to netip.AddrPort) (why string) {
	v := g.gate.Connect(protocol, to)
	if v.Unknown && g.resolver.refresh(g.ctx, g.gate) {
		v = g.gate.Connect(protocol, to)
	}
	return v.Why
}

// carry moves bytes both ways until both directions have ended.
func (g *Gateway) carry(f *flow, to netip.AddrPort) {
	var both sync.WaitGroup
	halted := make(chan struct{}) // when nothing more is moved inwards
	both.Go(func() {
		if err := g.outwards(f, to, halted); err != nil && !errors.Is(err, errOver) {
			f.abort()
			return
		}
		_ = f.outside.CloseWrite()
	})
	both.Go(func() {
		defer close(halted)
		n, err := pipe(g.ctx, f.inside, &listener{Reader: f.outside, answered: f.answered}, g.limits.down)
		switch {
		case err == nil:
			_ = f.inside.CloseWrite()
		case f.halting.Load() && errors.Is(err, os.ErrDeadlineExceeded):
			f.untouched = n == 0
		default:
			f.abort()
		}
	})
	both.Wait()
	f.once.Do(func() {
		_ = f.inside.Close()
		_ = f.outside.Close()
	})
}

// outwards moves bytes from inside to outside, or has the broker do so.
func (g *Gateway) outwards(f *flow, to netip.AddrPort, halted <-chan struct{}) error {
	o, err := g.vet(f, to)
	if err != nil {
		return err
	}
	if g.brokers(o.hello) {
		if err := f.halt(halted); err != nil {
			return err
		}
		g.serveBrokered(f, to, o)
		return nil
	}
	if err := g.pass(f, o); err != nil {
		return err
	}
	_, err = pipe(g.ctx, f.outside, f.inside, g.limits.up)
	return err
}

// copies are of copyBuffer bytes.
var copies = sync.Pool{New: func() any { b := make([]byte, copyBuffer); return &b }}

// pipe copies until the source ends, no faster than the limit, and says how much.
func pipe(ctx context.Context, to io.Writer, from io.Reader, limit *rate.Limiter) (moved int64, err error) {
	b := copies.Get().(*[]byte)
	defer copies.Put(b)
	for {
		n, err := from.Read(*b)
		if n > 0 {
			if err := limit.WaitN(ctx, n); err != nil {
				return moved, err
			}
			if _, err := to.Write((*b)[:n]); err != nil {
				return moved, err
			}
			moved += int64(n)
		}
		switch {
		case errors.Is(err, io.EOF):
			return moved, nil
		case err != nil:
			return moved, err
		}
	}
}
