package broker

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"paddock/internal/sandbox"
)

// Options is what the brokers of all machines share.
type Options struct {
	Authority *Authority
	Roots     *x509.CertPool // that hosts' certificates are verified with; nil: those of this system
}

// Broker is that of one machine. It is safe for concurrent use.
type Broker struct {
	options  Options
	sessions tls.ClientSessionCache // of TLS with the hosts

	mu     sync.Mutex
	byHost map[string]*hostSecrets
}

// New makes the broker of a machine with those secrets.
func New(o Options, secrets []sandbox.Brokered) *Broker {
	return &Broker{options: o, sessions: tls.NewLRUClientSessionCache(0), byHost: secretsByHost(secrets)}
}

// Entrust replaces the secrets, for connections that are open, too.
func (b *Broker) Entrust(secrets []sandbox.Brokered) {
	byHost := secretsByHost(secrets)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.byHost = byHost
}

// Any says whether there are secrets.
func (b *Broker) Any() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.byHost) > 0
}

// Has says whether there are secrets of the host, whose name is in lower case.
func (b *Broker) Has(host string) bool { return b.of(host) != nil }

func (b *Broker) of(host string) *hostSecrets {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.byHost[host]
}

// Connection is one of a machine with a host that there are secrets of.
type Connection struct {
	Inside net.Conn // from its first byte on
	Host   string   // the name in lower case, as TLS or HTTP has said it
	TLS    bool
	// Dial opens a connection to the host. It is called anew when the host has
	// closed an earlier one.
	Dial func(context.Context) (net.Conn, error)
	// Denied is told why the host was not spoken to.
	Denied func(why string)
}

// handshakePatience bounds both handshakes together.
const handshakePatience = 60 * time.Second

// serving is a Connection that is served.
type serving struct {
	Connection
	broker *Broker
	failed error // the host cannot be spoken to
	proxy  http.Handler

	mu     sync.Mutex
	first  net.Conn // to the host, not used yet
	ended  bool
	answer sync.WaitGroup // for requests
}

// Serve answers the machine's requests with the host's answers, until either
// closes the connection or ctx ends. It closes the connection.
func (b *Broker) Serve(ctx context.Context, c Connection) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &serving{Connection: c, broker: b}
	inside := &watched{Conn: c.Inside, closed: make(chan struct{})}
	defer inside.Close()
	defer context.AfterFunc(ctx, func() { _ = inside.Close() })()
	var conn net.Conn = inside
	protocol := ""
	if c.TLS {
		accepted, err := s.accept(ctx, inside)
		if err != nil {
			s.dropFirst()
			return // the client does not trust us, or has gone
		}
		conn, protocol = accepted, accepted.ConnectionState().NegotiatedProtocol
	}
	transport := s.transport(protocol)
	defer transport.CloseIdleConnections()
	defer s.dropFirst()
	s.proxy = s.newProxy(transport)
	server := &http.Server{
		Handler: s, DisableGeneralOptionsHandler: true, ErrorLog: log.New(io.Discard, "", 0), Protocols: protocols(protocol),
		BaseContext: func(net.Listener) context.Context { return ctx },
		HTTP2:       &http.HTTP2Config{MaxReceiveBufferPerStream: streamBuffer, MaxReceiveBufferPerConnection: connectionBuffer},
	}
	_ = server.Serve(&single{conn: conn, closed: inside.closed}) // it ends with the connection
	cancel()
	s.end()
}

// dropFirst closes the connection to the host that was not used.
func (s *serving) dropFirst() {
	s.mu.Lock()
	first := s.first
	s.first = nil
	s.mu.Unlock()
	if first != nil {
		_ = first.Close()
	}
}

// begin counts a request in; false when the connection has ended.
func (s *serving) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	s.answer.Add(1)
	return true
}

// end waits for the requests under way, which have been told to end.
func (s *serving) end() {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.answer.Wait()
}

// watched is a connection that says when it was closed.
type watched struct {
	net.Conn
	once   sync.Once
	closed chan struct{}
}

// Close is part of net.Conn.
func (w *watched) Close() error {
	err := net.ErrClosed
	w.once.Do(func() {
		err = w.Conn.Close()
		close(w.closed)
	})
	return err
}

// single is a listener with one connection, which ends with it.
type single struct {
	conn   net.Conn
	closed chan struct{}

	mu    sync.Mutex
	taken bool
}

// errOnce says that there is no second connection.
var errOnce = errors.New("the only connection has ended")

// Accept is part of net.Listener.
func (l *single) Accept() (net.Conn, error) {
	l.mu.Lock()
	taken := l.taken
	l.taken = true
	l.mu.Unlock()
	if !taken {
		return l.conn, nil
	}
	<-l.closed
	return nil, errOnce
}

// Close is part of net.Listener.
func (*single) Close() error { return nil }

// Addr is part of net.Listener.
func (l *single) Addr() net.Addr { return l.conn.LocalAddr() }
