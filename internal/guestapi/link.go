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
// as the Welcome (its Version is filled in here). A wrong secret, a version
// outside the window or a non-empty Welcome.Error closes conn and is an error
// that wraps ErrRefused. The whole handshake has HandshakeTimeout.
//
// Reports are handed to host one batch at a time and only after Batch.Validate.
func Accept(ctx context.Context, conn net.Conn, secret string, greet func(Hello) Welcome, host Host) (*Link, error) {
	c, hello, welcome, err := acceptHello(ctx, conn, secret, greet)
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("accept guest: %w", err)
	}
	p, err := newPeer(c, hostSide, hostRoutes(host))
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("accept guest: %w", err)
	}
	return &Link{guestClient: &guestClient{p}, peer: p, hello: hello, welcome: welcome}, nil
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
