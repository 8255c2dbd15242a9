package egress

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// part is some addresses of a network that stay closed, and why, as the end of a
// sentence.
type part struct {
	net netip.Prefix
	why string
}

// Closed says what of a network no spec can open here, and why: a sentence without
// its full stop, "" where all of it can be opened.
func (o Operator) Closed(net netip.Prefix) string {
	parts := o.closedParts(net.Masked())
	if len(parts) == 0 {
		return ""
	}
	var texts []string
	for i, p := range parts {
		if p.net == net.Masked() {
			return fmt.Sprintf("%s stays closed: %s", netWord(net), p.why)
		}
		text := netWord(p.net)
		if last := i == len(parts)-1; last || parts[i+1].why != p.why { // said once for its neighbours, too
			text += " (" + strings.TrimPrefix(p.why, "it is ") + ")"
		}
		texts = append(texts, text)
	}
	return fmt.Sprintf("of %s these stay closed: %s", netWord(net), strings.Join(texts, ", "))
}

// closedParts lists them, without those that lie in others.
func (o Operator) closedParts(net netip.Prefix) (parts []part) {
	add := func(with netip.Prefix, format string, args ...any) {
		if !net.Overlaps(with) {
			return
		}
		if with.Bits() < net.Bits() { // of two that overlap, one has the other
			with = net
		}
		covered := func(p part) bool { return p.net.Overlaps(with) && p.net.Bits() <= with.Bits() }
		if slices.ContainsFunc(parts, covered) {
			return
		}
		parts = slices.DeleteFunc(parts, func(p part) bool { return p.net.Overlaps(with) })
		parts = append(parts, part{with, fmt.Sprintf(format, args...)})
	}
	for _, c := range closed {
		add(c.net, "it is %s, which no sandbox may reach", c.what)
	}
	for _, denied := range o.DenyNets {
		add(denied, "the operator of this server denies it")
	}
	if net.IsSingleIP() && thisHost.has(net.Addr()) && !within(o.AllowNets, net.Addr()) {
		add(net, "it is an address of this host, and the operator of this server does not open it with serve --egress-allow")
	}
	for _, p := range private {
		if !net.Overlaps(p) {
			continue
		}
		if p.Bits() < net.Bits() {
			p = net
		}
		switch opened, whole := o.opened(p); {
		case whole:
		case opened == "":
			add(p, "it is private, and the operator of this server does not open it with serve --egress-allow")
		default:
			add(p, "it is private, and the operator of this server opens only %s of it with serve --egress-allow", opened)
		}
	}
	return parts
}

// opened says which parts of a private network the operator opens.
func (o Operator) opened(net netip.Prefix) (parts string, whole bool) {
	var texts []string
	for _, a := range o.AllowNets {
		switch {
		case !a.Overlaps(net):
		case a.Bits() <= net.Bits():
			return "", true
		default:
			texts = append(texts, netWord(a))
		}
	}
	return strings.Join(texts, ", "), false
}

// netWord is a network as people write it; of one address, that.
func netWord(net netip.Prefix) string {
	if net.IsSingleIP() {
		return net.Addr().String()
	}
	return net.String()
}
