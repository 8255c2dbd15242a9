package guestapi

import (
	"context"
	"fmt"
	"net"
)

// Uplink is the guest's end of a connection to the host: it implements Host
// over the connection and serves a Guest to the host. All methods are safe for
// concurrent use.
type Uplink struct {
	*hostClient
	peer    *peer
	welcome Welcome
}

var _ Host = (*Uplink)(nil)

// Dial shakes hands on the guest's side of a fresh connection. A host that
// refuses is an error that wraps ErrRefused and holds the host's sentence; conn
// is closed on every error. The Welcome is waited for until ctx is over or the
// host closes the connection.
func Dial(ctx context.Context, conn net.Conn, hello Hello, guest Guest) (*Uplink, error) {
	c, welcome, err := sayHello(ctx, conn, hello)
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("dial host: %w", err)
	}
	p, err := newPeer(c, guestSide, guestRoutes(guest))
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("dial host: %w", err)
	}
	return &Uplink{hostClient: &hostClient{p}, peer: p, welcome: welcome}, nil
}

// Welcome is the host's answer to the Hello.
func (u *Uplink) Welcome() Welcome { return u.welcome }

// Done is closed when the connection is gone.
func (u *Uplink) Done() <-chan struct{} { return u.peer.done() }

// Close ends the connection, cancels the calls in flight on both sides and
// waits for those that are being served here; so a Guest method must not call
// it. Closing again is no error.
func (u *Uplink) Close() error { return u.peer.close() }
