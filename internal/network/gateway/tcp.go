package gateway

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"

	"paddock/internal/network/egress"
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
	// answer; see vet.
	answered chan bool
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
	if !g.enter() {
		r.Complete(true)
		g.deny("tcp", to.Addr().String(), to.Port(), tooMany)
		return
	}
	defer g.exit()
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
	both.Go(func() {
		err := g.vet(f, to)
		if err == nil {
			err = pipe(g.ctx, f.outside, f.inside, g.up)
		}
		if err != nil && !errors.Is(err, errOver) {
			f.abort()
			return
		}
		_ = f.outside.CloseWrite()
	})
	both.Go(func() {
		if err := pipe(g.ctx, f.inside, &listener{Reader: f.outside, answered: f.answered}, g.down); err != nil {
			f.abort()
			return
		}
		_ = f.inside.CloseWrite()
	})
	both.Wait()
	f.once.Do(func() {
		_ = f.inside.Close()
		_ = f.outside.Close()
	})
}

// errRefused says that a connection asked for a host that is not allowed.
var errRefused = errors.New("refused")

// errOver says that a connection's one request has been made: its server has not
// switched to another protocol, and what else is sent would not be looked at.
var errOver = errors.New("the request is made")

// vet reads the first bytes from inside, where names decide, and passes them on
// if the host that they name is allowed.
func (g *Gateway) vet(f *flow, to netip.AddrPort) error {
	if !g.gate.NamesDecide() || g.gate.Listed(to.Addr()) {
		return nil
	}
	var first []byte
	buffer := make([]byte, egress.MostHello)
	var hello egress.Hello
	for !hello.Whole {
		if len(first) > 0 { // it has begun: it may not take for ever
			_ = f.inside.SetReadDeadline(time.Now().Add(helloPatience))
		}
		n, err := f.inside.Read(buffer)
		first = append(first, buffer[:n]...)
		hello = egress.ReadHello(first)
		if err != nil && !hello.Whole {
			if errors.Is(err, io.EOF) && hello.Protocol == "" {
				break
			}
			return err
		}
	}
	_ = f.inside.SetReadDeadline(time.Time{})
	wantTLS := to.Port() == 443
	switch {
	case hello.Protocol == "" && !wantTLS:
	case hello.Name == "":
		g.deny("tcp", to.Addr().String(), to.Port(), "the connection does not say which host it wants")
		return errRefused
	default:
		if why := g.gate.Name(hello.Name); why != "" {
			g.deny("tcp", hello.Name, to.Port(), why)
			return errRefused
		}
	}
	first = hello.Closing(first)
	if !hello.Upgrades {
		_, err := f.outside.Write(first)
		return err
	}
	if _, err := f.outside.Write(first[:hello.Head]); err != nil {
		return err
	}
	select {
	case switches := <-f.answered:
		if !switches {
			return errOver
		}
	case <-g.ctx.Done():
		return context.Cause(g.ctx)
	}
	_, err := f.outside.Write(first[hello.Head:])
	return err
}

// listener tells what a server's answer begins with.
type listener struct {
	io.Reader
	answered chan<- bool // nil once it was told
	heard    []byte
}

func (l *listener) Read(b []byte) (int, error) {
	n, err := l.Reader.Read(b)
	if l.answered != nil {
		l.heard = append(l.heard, b[:min(n, egress.MostStatus-len(l.heard))]...)
		if len(l.heard) == egress.MostStatus || err != nil {
			l.answered <- egress.Switches(l.heard)
			l.answered = nil
		}
	}
	return n, err
}

// copies are of copyBuffer bytes.
var copies = sync.Pool{New: func() any { b := make([]byte, copyBuffer); return &b }}

// pipe copies until the source ends, no faster than the limit.
func pipe(ctx context.Context, to io.Writer, from io.Reader, limit *rate.Limiter) error {
	b := copies.Get().(*[]byte)
	defer copies.Put(b)
	for {
		n, err := from.Read(*b)
		if n > 0 {
			if limit != nil {
				if err := limit.WaitN(ctx, n); err != nil {
					return err
				}
			}
			if _, err := to.Write((*b)[:n]); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}
