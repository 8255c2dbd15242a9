package guestapi

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/hashicorp/yamux"
)

// side is one of the two ends of a connection.
type side bool

const (
	hostSide  side = false
	guestSide side = true
)

// The most streams that each side serves at once, so that the other cannot make
// it hold buffers without end. The host is called by one guest that sends one
// batch at a time; a guest is called by every waiting exec of its session. A
// caller keeps to the number, and calls past it wait for a stream.
var maxStreams = map[side]int{hostSide: 8, guestSide: 1024}

// maxIdle is how many streams a caller keeps open for its next calls.
const maxIdle = 8

// peer is one end of a connection after the handshake: an HTTP client and an
// HTTP server over the streams of one multiplexed connection.
type peer struct {
	session   *yamux.Session
	server    *http.Server
	client    *http.Client
	transport *http.Transport
	work      sync.WaitGroup // the accept loop and every stream being served
	slots     chan struct{}
}

func newPeer(conn net.Conn, s side, routes http.Handler) (*peer, error) {
	config := yamux.DefaultConfig()
	config.EnableKeepAlive = false // a frozen guest answers no ping and must not be cut
	config.StreamOpenTimeout = 0   // for the same reason
	config.AcceptBacklog = 64
	config.LogOutput = io.Discard
	open := yamux.Server
	if s == guestSide {
		open = yamux.Client
	}
	session, err := open(conn, config)
	if err != nil {
		return nil, err
	}
	p := &peer{session: session, slots: make(chan struct{}, maxStreams[s])}
	p.transport = &http.Transport{
		DialContext:            func(context.Context, string, string) (net.Conn, error) { return dialStream(session) },
		DisableCompression:     true,
		MaxIdleConnsPerHost:    maxIdle, // streams are reused: a call is one round trip
		MaxConnsPerHost:        maxStreams[!s],
		MaxResponseHeaderBytes: 16 << 10,
	}
	p.client = &http.Client{Transport: p.transport}
	p.server = &http.Server{
		Handler:        routes,
		MaxHeaderBytes: 16 << 10,
		ErrorLog:       log.New(io.Discard, "", 0),
		ConnState:      p.track,
	}
	p.work.Go(func() { _ = p.server.Serve(streams{p}) }) // ends with the session
	return p, nil
}

// track counts streams in and out. A stream's StateNew is told by the accept
// loop, which is itself counted in work, so Add never races with Wait at zero.
func (p *peer) track(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		p.work.Add(1)
	case http.StateClosed, http.StateHijacked:
		<-p.slots
		p.work.Done()
	}
}

func (p *peer) done() <-chan struct{} { return p.session.CloseChan() }

func (p *peer) close() error {
	err := p.session.Close()
	_ = p.server.Close() // only closes streams that are gone already
	p.transport.CloseIdleConnections()
	p.work.Wait()
	return err
}

// stream wakes its reader when it is closed, as every network connection does:
// yamux's own goes on reading until the other side, which may be frozen, has
// closed it too.
type stream struct{ net.Conn }

func dialStream(session *yamux.Session) (net.Conn, error) {
	s, err := session.Open()
	if err != nil {
		return nil, err
	}
	return stream{s}, nil
}

func (s stream) Close() error {
	_ = s.SetReadDeadline(time.Unix(1, 0)) // long ago
	return s.Conn.Close()
}

// streams is the listener whose connections are the session's streams.
type streams struct{ p *peer }

func (s streams) Accept() (net.Conn, error) {
	select {
	case s.p.slots <- struct{}{}:
	case <-s.p.done():
		return nil, net.ErrClosed
	}
	return s.p.session.Accept()
}

func (s streams) Close() error   { return s.p.session.Close() }
func (s streams) Addr() net.Addr { return s.p.session.Addr() }
