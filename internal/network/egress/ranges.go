package egress

import (
	"net"
	"net/netip"
	"sync"
	"time"
)

// closed are the addresses that no machine reaches, whatever anybody says, with
// what they are.
var closed = []struct {
	net  netip.Prefix
	what string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "this host"},
	{netip.MustParsePrefix("127.0.0.0/8"), "the loopback of this host"},
	{netip.MustParsePrefix("169.254.0.0/16"), "a link-local address"}, // 169.254.169.254: metadata of most clouds
	{netip.MustParsePrefix("10.0.2.0/24"), "the sandbox's own network"},
	{netip.MustParsePrefix("100.100.100.200/32"), "a cloud's metadata"}, // Alibaba
	{netip.MustParsePrefix("168.63.129.16/32"), "a cloud's metadata"},   // Azure
	{netip.MustParsePrefix("192.0.0.192/32"), "a cloud's metadata"},     // Oracle
	{netip.MustParsePrefix("224.0.0.0/4"), "a multicast address"},
	{netip.MustParsePrefix("240.0.0.0/4"), "a reserved address"},
}

// private are the addresses that --egress-allow may open (RFC 6890), beside
// those of this host.
var private = []netip.Prefix{
	netip.MustParsePrefix("10.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"),
	netip.MustParsePrefix("172.16.0.0/12"),
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.168.0.0/16"),
	netip.MustParsePrefix("198.18.0.0/15"),
}

// ownAge is how long the list of this host's addresses is believed.
const ownAge = 2 * time.Second

// host knows the addresses of this host. The zero value is ready.
type host struct {
	mu    sync.Mutex
	at    time.Time
	addrs map[netip.Addr]bool
}

// has says whether addr is one of this host. Where the host does not tell, what
// it told last counts.
func (h *host) has(addr netip.Addr) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if now := time.Now(); now.Sub(h.at) > ownAge {
		if all, err := net.InterfaceAddrs(); err == nil {
			h.at, h.addrs = now, map[netip.Addr]bool{}
			for _, one := range all {
				if p, err := netip.ParsePrefix(one.String()); err == nil {
					h.addrs[p.Addr().Unmap()] = true
				}
			}
		}
	}
	return h.addrs[addr]
}

// thisHost is shared by all gates.
var thisHost host
