package egress

import (
	"net/netip"
	"testing"

	"paddock/internal/sandbox"
)

func TestClosed(t *testing.T) {
	const notOpened = "it is private, and the operator of this server does not open it with serve --egress-allow"
	for _, c := range []struct {
		name        string
		deny, allow []string
		net         string
		want        string
	}{
		{"public", nil, nil, "203.0.113.0/24", ""},
		{"loopback", nil, []string{"127.0.0.0/8"}, "127.0.0.1/32", "127.0.0.1 stays closed: it is the loopback of this host, which no sandbox may reach"},
		{"metadata", nil, []string{"169.254.0.0/16"}, "169.254.169.254/32", "169.254.169.254 stays closed: it is a link-local address, which no sandbox may reach"},
		{"private", nil, nil, "192.168.7.0/24", "192.168.7.0/24 stays closed: " + notOpened},
		{"private, and the sandbox's own in it", nil, nil, "10.0.0.0/8", "10.0.0.0/8 stays closed: " + notOpened},
		{"private, opened", nil, []string{"192.168.0.0/16"}, "192.168.7.0/24", ""},
		{"private, opened in part", nil, []string{"192.168.7.0/24", "192.168.9.1"}, "192.168.0.0/16",
			"192.168.0.0/16 stays closed: it is private, and the operator of this server opens only 192.168.7.0/24, 192.168.9.1 of it with serve --egress-allow"},
		{"opened, but for the sandbox's own", nil, []string{"10.0.0.0/8"}, "10.0.0.0/8",
			"of 10.0.0.0/8 these stay closed: 10.0.2.0/24 (the sandbox's own network, which no sandbox may reach)"},
		{"denied", []string{"203.0.113.0/24", "evil.test"}, nil, "203.0.113.9/32", "203.0.113.9 stays closed: the operator of this server denies it"},
		{"denied in part", []string{"203.0.113.9"}, nil, "203.0.113.0/24", "of 203.0.113.0/24 these stay closed: 203.0.113.9 (the operator of this server denies it)"},
		{"denied twice, in a private one", []string{"192.168.1.1", "192.168.2.2"}, nil, "192.168.0.0/16", "192.168.0.0/16 stays closed: " + notOpened},
		{"two alike", nil, nil, "192.0.0.0/8", "of 192.0.0.0/8 these stay closed: 192.0.0.0/24, 192.168.0.0/16 (private, and the operator of this server does not open it with serve --egress-allow)"},
		{"a wide one", nil, nil, "172.0.0.0/8", "of 172.0.0.0/8 these stay closed: 172.16.0.0/12 (private, and the operator of this server does not open it with serve --egress-allow)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, err := ParseOperator(c.deny, c.allow)
			if err != nil {
				t.Fatal(err)
			}
			net := netip.MustParsePrefix(c.net)
			got := o.Closed(net)
			if got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
			if !net.IsSingleIP() {
				return
			}
			// The gate says the same.
			rules := sandbox.Egress{Nets: []netip.Prefix{net}}
			if v := NewGate(o, rules).Connect("tcp", netip.AddrPortFrom(net.Addr(), 22)); (v.Why == "") != (got == "") {
				t.Errorf("the gate says %q", v.Why)
			}
		})
	}
}
