package network

import (
	"context"

	"paddock/internal/sandbox"
)

// Loopback is a sandbox.Network whose namespaces have no way out.
type Loopback struct{ namespaces }

var _ sandbox.Network = (*Loopback)(nil)

// NewLoopback keeps the namespace files in folder, which is made when absent
// (0700). Folder must be absolute.
func NewLoopback(folder string) (*Loopback, error) {
	n, err := openNamespaces(folder)
	if err != nil {
		return nil, err
	}
	return &Loopback{n}, nil
}

// Warning is part of sandbox.Network.
func (*Loopback) Warning() string {
	return "the sandbox has no network beyond its own loopback interface"
}

// Attach is part of sandbox.Network. No rules lead anywhere.
func (l *Loopback) Attach(_ context.Context, id string, _ sandbox.Egress, _ []sandbox.Brokered) (nsPath string, err error) {
	return l.make(id, func() error { return nil })
}

// Govern is part of sandbox.Network.
func (*Loopback) Govern(context.Context, string, sandbox.Egress, []sandbox.Brokered) error {
	return nil
}

// Rejoin is part of sandbox.Network.
func (*Loopback) Rejoin(context.Context, string, []sandbox.Brokered) error { return nil }

// Authority is part of sandbox.Network.
func (*Loopback) Authority() []byte { return nil }

// Leave is part of sandbox.Network.
func (*Loopback) Leave(string) error { return nil }

// Detach is part of sandbox.Network.
func (l *Loopback) Detach(_ context.Context, id string) error { return l.remove(id) }
