package egress

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"paddock/internal/sandbox"
)

func TestConnect(t *testing.T) {
	everywhere := sandbox.Egress{All: true}
	listed := sandbox.Egress{Hosts: []string{"example.com"}, Nets: []netip.Prefix{netip.MustParsePrefix("203.0.113.0/28")}}
	lan := Operator{AllowNets: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}}
	for _, c := range []struct {
		name     string
		operator Operator
		rules    sandbox.Egress
		protocol string
		to       string
		why      string // part of it; "" for allowed
	}{
		{"nowhere", Operator{}, sandbox.Egress{}, "tcp", "203.0.113.1:80", "lists"},
		{"everywhere", Operator{}, everywhere, "tcp", "203.0.113.1:80", ""},
		{"loopback", lan, everywhere, "tcp", "127.0.0.1:80", "loopback"},
		{"metadata", lan, everywhere, "tcp", "169.254.169.254:80", "link-local"},
		{"azure", lan, everywhere, "tcp", "168.63.129.16:80", "metadata"},
		{"another sandbox", lan, everywhere, "tcp", "10.0.2.15:22", "own network"},
		{"multicast", lan, everywhere, "udp", "224.0.0.1:5353", "multicast"},
		{"broadcast", lan, everywhere, "udp", "255.255.255.255:67", "reserved"},
		{"private", Operator{}, everywhere, "tcp", "10.1.2.3:80", "private"},
		{"private in 172", Operator{}, everywhere, "tcp", "172.31.255.255:80", "private"},
		{"beside 172", Operator{}, everywhere, "tcp", "172.32.0.1:80", ""},
		{"private, opened", lan, everywhere, "tcp", "192.168.1.1:80", ""},
		{"private, opened, not listed", lan, listed, "tcp", "192.168.1.1:80", "lists"},
		{"private, listed", Operator{}, sandbox.Egress{Nets: []netip.Prefix{netip.MustParsePrefix("192.168.1.1/32")}}, "tcp", "192.168.1.1:80", "private"},
		{"denied network", Operator{DenyNets: []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")}}, listed, "tcp", "203.0.113.1:80", "operator"},
		{"listed address", Operator{}, listed, "tcp", "203.0.113.15:443", ""},
		{"listed address, QUIC", Operator{}, listed, "udp", "203.0.113.15:443", ""},
		{"beside it", Operator{}, listed, "tcp", "203.0.113.16:443", "lists"},
		{"resolved", Operator{}, listed, "tcp", "198.51.100.7:22", ""},
		{"resolved, QUIC", Operator{}, listed, "udp", "198.51.100.7:443", "QUIC"},
		{"resolved, UDP", Operator{}, listed, "udp", "198.51.100.7:123", ""},
		{"QUIC where names are denied", Operator{DenyHosts: []string{"x.test"}}, everywhere, "udp", "203.0.113.1:443", "QUIC"},
		{"QUIC everywhere", Operator{}, everywhere, "udp", "203.0.113.1:443", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewGate(c.operator, c.rules)
			if !c.rules.All {
				g.Learn(netip.MustParseAddr("198.51.100.7"), time.Second)
			}
			v := g.Connect(c.protocol, netip.MustParseAddrPort(c.to))
			if (v.Why == "") != (c.why == "") || !strings.Contains(v.Why, c.why) {
				t.Errorf("%s %s: %q, want %q", c.protocol, c.to, v.Why, c.why)
			}
		})
	}
}

// TestOwnAddresses: those of this host are closed, and with them open the
// server's own port is not.
func TestOwnAddresses(t *testing.T) {
	thisHost.mu.Lock()
	thisHost.at, thisHost.addrs = time.Now().Add(time.Hour), map[netip.Addr]bool{netip.MustParseAddr("203.0.113.7"): true}
	thisHost.mu.Unlock()
	t.Cleanup(func() {
		thisHost.mu.Lock()
		defer thisHost.mu.Unlock()
		thisHost.at = time.Time{}
	})
	rules := sandbox.Egress{All: true, Nets: []netip.Prefix{netip.MustParsePrefix("203.0.113.7/32")}}
	open := Operator{AllowNets: []netip.Prefix{netip.MustParsePrefix("203.0.113.7/32")}, Port: 7723}
	for _, c := range []struct {
		operator Operator
		port     uint16
		allowed  bool
	}{{Operator{Port: 7723}, 22, false}, {open, 22, true}, {open, 7723, false}} {
		v := NewGate(c.operator, rules).Connect("tcp", netip.AddrPortFrom(netip.MustParseAddr("203.0.113.7"), c.port))
		if (v.Why == "") != c.allowed {
			t.Errorf("port %d, opened %v: %q", c.port, c.operator.AllowNets, v.Why)
		}
	}
}

func TestNames(t *testing.T) {
	g := NewGate(Operator{DenyHosts: []string{"bad.example.com", "*.evil.test"}}, sandbox.Egress{Hosts: []string{"example.org", "*.example.com", "a.evil.test"}})
	for name, allowed := range map[string]bool{
		"example.org": true, "Example.ORG.": true, "www.example.org": false, "example.com": false, "a.example.com": true, "a.b.example.com": true,
		"badexample.com": false, "bad.example.com": false, "a.evil.test": false, "": false, "example.org.evil.com": false,
	} {
		if why := g.Name(name); (why == "") != allowed {
			t.Errorf("%q: %q, want allowed %v", name, why, allowed)
		}
	}
	g.Govern(sandbox.Egress{All: true})
	if why := g.Name("anything.test"); why != "" {
		t.Errorf("everywhere: %s", why)
	}
	if why := g.Name("x.evil.test"); why == "" {
		t.Error("the operator's word does not count everywhere")
	}
}

// TestForgetting: what was resolved counts for a while, and under the rules it
// was resolved under.
func TestForgetting(t *testing.T) {
	now := time.Now()
	g := NewGate(Operator{}, sandbox.Egress{Hosts: []string{"example.com"}})
	g.now = func() time.Time { return now }
	to := netip.MustParseAddrPort("203.0.113.9:443")
	g.Learn(to.Addr(), time.Second)
	now = now.Add(leastMemory - time.Second)
	if v := g.Connect("tcp", to); v.Why != "" {
		t.Errorf("within the hour: %s", v.Why)
	}
	now = now.Add(2 * time.Second)
	if v := g.Connect("tcp", to); !v.Unknown {
		t.Errorf("after it: %+v", v)
	}
	g.Learn(to.Addr(), time.Second)
	g.Govern(sandbox.Egress{Hosts: []string{"other.test"}})
	if v := g.Connect("tcp", to); v.Why == "" {
		t.Error("an address outlives the rules")
	}
	for i := range 2 * mostKnown {
		g.Learn(netip.AddrFrom4([4]byte{20, 0, byte(i >> 8), byte(i)}), 0)
	}
	if len(g.known) > mostKnown {
		t.Errorf("%d addresses are remembered", len(g.known))
	}
}

func TestParseOperator(t *testing.T) {
	o, err := ParseOperator([]string{"*.Example.com", "203.0.113.0/24", "198.51.100.7"}, []string{"192.168.7.9/24"})
	if err != nil || len(o.DenyHosts) != 1 || o.DenyHosts[0] != "*.example.com" || len(o.DenyNets) != 2 || o.AllowNets[0].String() != "192.168.7.0/24" {
		t.Errorf("%+v, %v", o, err)
	}
	for _, c := range [][2][]string{{{"a b"}, nil}, {{""}, nil}, {{"::1"}, nil}, {nil, {"example.com"}}, {nil, {"fd00::/8"}}, {{"*"}, nil}} {
		if _, err := ParseOperator(c[0], c[1]); err == nil {
			t.Errorf("%v is accepted", c)
		}
	}
}
