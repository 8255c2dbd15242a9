package gateway

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/ethernet"
	"gvisor.dev/gvisor/pkg/tcpip/network/arp"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/icmp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"

	"paddock/internal/network/broker"
	"paddock/internal/network/egress"
	"paddock/internal/sandbox"
)

// The addresses, the same for every machine: a copy of one finds its network
// unchanged.
var (
	Addr      = netip.MustParseAddr("10.0.2.2")  // of the gateway, and of the resolver on it
	GuestAddr = netip.MustParseAddr("10.0.2.15") // of the machine
)

// The hardware addresses, likewise.
const (
	MAC      = "\x02\x00\x0a\x00\x02\x02"
	GuestMAC = "\x02\x00\x0a\x00\x02\x0f"
)

const (
	nic = 1
	// window bounds what one connection may hold in memory each way.
	window = 1 << 20
	// atOnce is how many connections of one machine may be in the making.
	atOnce = 1024
)

// Options is what a Gateway is made of.
type Options struct {
	Tap         *os.File // non-blocking; the gateway closes it
	Gate        *egress.Gate
	Broker      *broker.Broker // of the machine's secrets
	Resolver    *Resolver
	Flows       string         // file that keeps which connections are open
	Fresh       bool           // the machine was not started yet: it has no open connection
	Connections int            // most open connections
	Bandwidth   int            // bytes in a second each way; 0: no limit
	Rules       sandbox.Egress // for Limit
	Denied      func(sandbox.Denial)
}

// Gateway is the outside of one machine's network.
type Gateway struct {
	gate     *egress.Gate
	broker   *broker.Broker
	resolver *Resolver
	denials  *denials
	flows    *ledger
	stack    *stack.Stack
	link     *link
	limits   *limits
	asking   chan struct{} // room for questions; see namesAtOnce

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	work   sync.WaitGroup

	looking atomic.Bool // see lookAgain

	mu     sync.Mutex
	closed bool
	open   map[*flow]struct{}
}

// New starts a gateway.
func New(o Options) (*Gateway, error) {
	ctx, cancel := context.WithCancel(context.Background())
	g := &Gateway{
		gate: o.Gate, broker: o.Broker, resolver: o.Resolver, denials: newDenials(o.Denied), ctx: ctx, cancel: cancel,
		open: map[*flow]struct{}{}, asking: make(chan struct{}, namesAtOnce),
		limits: newLimits(o.Connections, o.Bandwidth, o.Rules),
	}
	var err error
	var lost []tuple
	if g.flows, lost, err = openLedger(o.Flows, o.Connections, o.Fresh); err != nil {
		cancel()
		return nil, err
	}
	if err := g.start(o.Tap); err != nil {
		cancel()
		g.flows.close()
		return nil, err
	}
	if len(lost) > 0 {
		g.work.Go(func() { g.endLost(lost) })
	}
	if !o.Fresh { // an earlier process knew which addresses the listed names have
		g.lookAgain()
	}
	return g, nil
}

// Limit bounds the machine as the rules say, as far as that is less than it was
// given.
func (g *Gateway) Limit(rules sandbox.Egress) { g.limits.set(rules) }

// lookAgain has the names looked up that the gate lists, and waits for nothing.
func (g *Gateway) lookAgain() {
	if !g.looking.CompareAndSwap(false, true) {
		return
	}
	look := func() {
		defer g.looking.Store(false)
		g.resolver.refresh(g.ctx, g.gate)
	}
	if !g.begin(look) {
		g.looking.Store(false)
	}
}

func (g *Gateway) start(tap *os.File) (err error) {
	if g.link, err = newLink(tap, g.sieve); err != nil {
		return err
	}
	g.stack = stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol, arp.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol, udp.NewProtocol, icmp.NewProtocol4},
	})
	sack, moderate := tcpip.TCPSACKEnabled(true), tcpip.TCPModerateReceiveBufferOption(true)
	receive := tcpip.TCPReceiveBufferSizeRangeOption{Min: 4096, Default: window, Max: window}
	send := tcpip.TCPSendBufferSizeRangeOption{Min: 4096, Default: window, Max: window}
	for _, option := range []tcpip.SettableTransportProtocolOption{&sack, &moderate, &receive, &send} {
		if err := g.stack.SetTransportProtocolOption(tcp.ProtocolNumber, option); err != nil {
			return fmt.Errorf("set up TCP: %s", err)
		}
	}
	g.stack.SetTransportProtocolHandler(tcp.ProtocolNumber, tcp.NewForwarder(g.stack, window, atOnce, g.takeTCP).HandlePacket)
	g.stack.SetTransportProtocolHandler(udp.ProtocolNumber, udp.NewForwarder(g.stack, g.takeUDP).HandlePacket)
	if err := g.stack.CreateNIC(nic, ethernet.New(g.link)); err != nil {
		return fmt.Errorf("make gateway's interface: %s", err)
	}
	// It answers for every address there is.
	if err := g.stack.SetPromiscuousMode(nic, true); err != nil {
		return fmt.Errorf("set up gateway's interface: %s", err)
	}
	if err := g.stack.SetSpoofing(nic, true); err != nil {
		return fmt.Errorf("set up gateway's interface: %s", err)
	}
	own := tcpip.ProtocolAddress{Protocol: ipv4.ProtocolNumber,
		AddressWithPrefix: tcpip.AddressWithPrefix{Address: toStack(Addr), PrefixLen: 24}}
	if err := g.stack.AddProtocolAddress(nic, own, stack.AddressProperties{}); err != nil {
		return fmt.Errorf("set gateway's address: %s", err)
	}
	g.stack.SetRouteTable([]tcpip.Route{{Destination: header.IPv4EmptySubnet, NIC: nic}})
	if err := g.stack.AddStaticNeighbor(nic, ipv4.ProtocolNumber, toStack(GuestAddr), GuestMAC); err != nil {
		return fmt.Errorf("set machine's hardware address: %s", err)
	}
	return nil
}

// Close ends all connections, the machine's ends of them too, and lets go of
// the device.
func (g *Gateway) Close() error {
	g.mu.Lock()
	again := g.closed
	g.closed = true
	open := make([]*flow, 0, len(g.open))
	for f := range g.open {
		open = append(open, f)
	}
	g.mu.Unlock()
	if again {
		return nil
	}
	g.limits.close()
	g.cancel()
	for _, f := range open {
		f.abort()
	}
	g.work.Wait()
	g.denials.close()
	g.stack.Close() // what is half open ends with a reset, too
	g.link.Close()
	g.stack.Wait()
	return g.flows.close()
}

// hold keeps a flow in mind for Close; false when the gateway closes.
func (g *Gateway) hold(f *flow) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.open[f] = struct{}{}
	return true
}

func (g *Gateway) drop(f *flow) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.open, f)
}

// begin has do done by a goroutine that Close waits for; false when the gateway
// closes.
func (g *Gateway) begin(do func()) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.work.Go(do)
	return true
}

func toStack(a netip.Addr) tcpip.Address { return tcpip.AddrFrom4(a.As4()) }

func fromStack(a tcpip.Address, port uint16) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4(a.As4()), port)
}
