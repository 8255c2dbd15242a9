package egress

import (
	"fmt"
	"net/netip"
	"strings"
)

// Operator is what the operator of the server says for all machines.
type Operator struct {
	DenyHosts []string       // names, exact or *.suffix, that no spec opens
	DenyNets  []netip.Prefix // likewise addresses
	AllowNets []netip.Prefix // private addresses that machines may reach all the same
	Port      uint16         // the server's own: refused at every address of this host
}

// ParseOperator reads the values of --egress-deny and --egress-allow.
func ParseOperator(deny, allow []string) (o Operator, err error) {
	for _, text := range deny {
		if net, err := ParseNet(text); err == nil {
			o.DenyNets = append(o.DenyNets, net)
			continue
		}
		host, err := ParseHost(text)
		if err != nil {
			return o, fmt.Errorf("--egress-deny %q: %w", text, err)
		}
		o.DenyHosts = append(o.DenyHosts, host)
	}
	for _, text := range allow {
		net, err := ParseNet(text)
		if err != nil {
			return o, fmt.Errorf("--egress-allow %q: %w", text, err)
		}
		o.AllowNets = append(o.AllowNets, net)
	}
	return o, nil
}

// ParseNet reads an IPv4 address, or a network such as 192.168.7.0/24.
func ParseNet(text string) (netip.Prefix, error) {
	net, err := netip.ParsePrefix(text)
	if err != nil {
		addr, err := netip.ParseAddr(text)
		if err != nil {
			return net, fmt.Errorf("is no address and no network such as 192.168.7.0/24")
		}
		net = netip.PrefixFrom(addr, addr.BitLen())
	}
	if !net.Addr().Is4() {
		return net, fmt.Errorf("is IPv6, which sandboxes do not have")
	}
	return net.Masked(), nil
}

// ParseHost reads a host's name, exact or *.suffix, and gives it in lower case.
func ParseHost(text string) (string, error) {
	name := strings.TrimSuffix(strings.ToLower(text), ".")
	rest := strings.TrimPrefix(name, "*.")
	if _, err := netip.ParseAddr(rest); err == nil {
		return "", fmt.Errorf("is an address; addresses go into allow_ips")
	}
	if rest == "" || len(rest) > 253 {
		return "", fmt.Errorf("is no host name such as example.com or *.example.com")
	}
	for label := range strings.SplitSeq(rest, ".") {
		if !isLabel(label) {
			return "", fmt.Errorf("is no host name such as example.com or *.example.com")
		}
	}
	return name, nil
}

func isLabel(label string) bool {
	if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
		return false
	}
	for _, c := range []byte(label) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

// matches says whether a name in lower case is one of the patterns.
// *.example.com is every name below example.com, and not that name itself.
func matches(patterns []string, name string) bool {
	for _, p := range patterns {
		if suffix, wild := strings.CutPrefix(p, "*"); p == name || wild && len(name) > len(suffix) && strings.HasSuffix(name, suffix) {
			return true
		}
	}
	return false
}

func within(nets []netip.Prefix, addr netip.Addr) bool {
	for _, n := range nets {
		if n.Contains(addr) {
			return true
		}
	}
	return false
}
