package daemon

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"

	"paddock/internal/engine"
	"paddock/internal/network"
	"paddock/internal/network/egress"
	"paddock/internal/sandbox"
)

// readOperator reads what the operator says of where to connect to.
func readOperator(cfg Config, listen net.Addr) (egress.Operator, error) {
	operator, err := egress.ParseOperator(cfg.EgressDeny, cfg.EgressAllow)
	if err != nil {
		return operator, &MisconfiguredError{err}
	}
	if own, err := netip.ParseAddrPort(listen.String()); err == nil {
		operator.Port = own.Port()
	}
	return operator, nil
}

// openNetwork opens the network of the sandboxes. Where this host lets us make
// none, they have loopback alone, and their sessions say so.
func openNetwork(cfg Config, operator egress.Operator) (sandbox.Network, error) {
	folder := filepath.Join(cfg.DataDir, "netns")
	user, err := network.New(network.Options{
		Folder: folder, Operator: operator, DNS: cfg.DNS, Connections: cfg.Connections, Bandwidth: cfg.Bandwidth, Logger: cfg.Log,
		Authority: filepath.Join(cfg.DataDir, "ca"), UpstreamCA: cfg.UpstreamCA,
	})
	if err == nil {
		return user, nil
	}
	if errors.Is(err, network.ErrTrust) {
		return nil, &MisconfiguredError{err}
	}
	cfg.Log.Warn("sandboxes have no network", "reason", err)
	loopback, err := network.NewLoopback(folder)
	if err != nil {
		return nil, fmt.Errorf("open network: %w", err)
	}
	return loopback, nil
}

// watchNetwork has refused connections written into the history of their session.
func watchNetwork(net sandbox.Network, e *engine.Engine) {
	if user, ok := net.(*network.User); ok {
		user.Watch(e.EgressDenied)
	}
}
