package gateway

import (
	"context"
	"errors"
	"io"
	"net/netip"
	"time"

	"paddock/internal/network/egress"
)

// errRefused says that a connection asked for a host that is not allowed.
var errRefused = errors.New("refused")

// errOver says that a connection's one request has been made: its server has not
// switched to another protocol, and what else is sent would not be looked at.
var errOver = errors.New("the request is made")

// opening is what came from inside at first.
type opening struct {
	bytes  []byte
	hello  egress.Hello
	decide bool // by the name that it asks for
}

// vet reads the first bytes from inside, where names decide or there are secrets
// for some, and gives them if the host that they name is allowed.
func (g *Gateway) vet(f *flow, to netip.AddrPort) (o opening, err error) {
	o.decide = g.gate.NamesDecide() && !g.gate.Listed(to.Addr())
	if !o.decide && !g.broker.Any() {
		return o, nil
	}
	buffer := make([]byte, egress.MostHello)
	for !o.hello.Whole {
		if len(o.bytes) > 0 { // it has begun: it may not take for ever
			_ = f.inside.SetReadDeadline(time.Now().Add(helloPatience))
		}
		n, err := f.inside.Read(buffer)
		o.bytes = append(o.bytes, buffer[:n]...)
		o.hello = egress.ReadHello(o.bytes)
		if err != nil && !o.hello.Whole {
			if errors.Is(err, io.EOF) && o.hello.Protocol == "" {
				break
			}
			return o, err
		}
	}
	_ = f.inside.SetReadDeadline(time.Time{})
	if !o.decide {
		return o, nil
	}
	wantTLS := to.Port() == 443
	switch {
	case o.hello.Protocol == "" && !wantTLS:
	case o.hello.Name == "":
		g.deny("tcp", to.Addr().String(), to.Port(), "the connection does not say which host it wants")
		return o, errRefused
	default:
		if why := g.gate.Name(o.hello.Name); why != "" {
			g.deny("tcp", o.hello.Name, to.Port(), why)
			return o, errRefused
		}
	}
	return o, nil
}

// pass sends on what came at first. Where names decide, nothing may follow a
// request over HTTP that would not be looked at.
func (g *Gateway) pass(f *flow, o opening) error {
	first := o.bytes
	if o.decide {
		first = o.hello.Closing(first)
	}
	if !o.decide || !o.hello.Upgrades {
		_, err := f.outside.Write(first)
		return err
	}
	if _, err := f.outside.Write(first[:o.hello.Head]); err != nil {
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
	_, err := f.outside.Write(first[o.hello.Head:])
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
