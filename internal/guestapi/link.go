package guestapi

import (
	"context"
	"fmt"
	"net"
)

// Link is the host's end of a connection to a guest: it implements Guest over
// the connection and serves a Host to the guest. All methods are safe for
// concurrent use.
type Link struct {
	*guestClient
	peer    *peer
	hello   Hello
	welcome Welcome
}

var _ Guest = (*Link)(nil)

// Accept shakes hands on the host's side. greet is called once the guest has
// shown the right secret and a version in the window; what it returns is sent
// as the Welcome, as Caller.Admit does it.
func Accept(ctx context.Context, conn net.Conn, secret string, greet func(Hello) Welcome, host Host) (*Link, error) {
	caller, err := Receive(ctx, conn, secret)
	if err != nil {
		return nil, err
	}
	return caller.Admit(ctx, greet(caller.Hello()), host)
}

// Caller is a guest that has said hello and waits for its Welcome. One of
// version 1 waits for HandshakeTimeout at most.
type Caller struct {
	conn    *bufferedConn
	hello   Hello
	version int
}

// Receive hears a guest's hello, within HandshakeTimeout. A wrong secret or a
// version outside the window is an error that wraps ErrRefused; conn is closed on
// every error.
func Receive(ctx context.Context, conn net.Conn, secret string) (*Caller, error) {
	c, hello, version, err := receiveHello(ctx, conn, secret)
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("receive guest: %w", err)
	}
	return &Caller{conn: c, hello: hello, version: version}, nil
}

// Hello is what the guest said of itself.
func (c *Caller) Hello() Hello { return c.hello }

// Close leaves the guest without an answer; it dials again.
func (c *Caller) Close() error { return c.conn.Close() }

// Admit sends the Welcome (its Version is filled in here) and makes the
// connection a Link. A non-empty Welcome.Error refuses the guest, which is an
// error that wraps ErrRefused. The connection is closed on every error.
//
// Reports are handed to host one batch at a time and only after Batch.Validate.
func (c *Caller) Admit(ctx context.Context, welcome Welcome, host Host) (*Link, error) {
	welcome.Version = c.version
	err := bounded(ctx, c.conn, func() error {
		if err := refuse(c.conn, welcome); err != nil {
			return err
		}
		if err := c.conn.writeLine(welcome); err != nil {
			return fmt.Errorf("write welcome: %w", err)
		}
		return nil
	})
	if err != nil {
		_ = c.conn.Close()
		return nil, fmt.Errorf("admit guest: %w", err)
	}
	p, err := newPeer(c.conn, hostSide, hostRoutes(host))
	if err != nil {
		_ = c.conn.Close()
		return nil, fmt.Errorf("admit guest: %w", err)
	}
	return &Link{guestClient: &guestClient{p}, peer: p, hello: c.hello, welcome: welcome}, nil
}

// Hello is what the guest said of itself.
func (l *Link) Hello() Hello { return l.hello }

// Welcome is what the guest was told.
func (l *Link) Welcome() Welcome { return l.welcome }

// Done is closed when the connection is gone.
func (l *Link) Done() <-chan struct{} { return l.peer.done() }

// Close ends the connection, cancels the calls in flight on both sides and
// waits for those that are being served here; so a Host method must not call
// it. Closing again is no error.
func (l *Link) Close() error { return l.peer.close() }
