package environment

import (
	"net/netip"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Egress is where a session's sandbox may connect to. The zero value is
// everywhere that the server opens to sandboxes.
type Egress struct {
	Limited    bool           `json:"limited,omitempty"` // to what follows
	AllowHosts []string       `json:"allow_hosts,omitempty"`
	AllowIPs   []netip.Prefix `json:"allow_ips,omitempty"`
}

// allows says whether a host's name is one of those listed.
func (e Egress) allows(host string) bool {
	return slices.ContainsFunc(e.AllowHosts, func(listed string) bool {
		suffix, any := strings.CutPrefix(listed, "*")
		return listed == host || any && strings.HasSuffix(host, suffix)
	})
}

const unrestricted = "unrestricted"

var egressFields = fields{
	"allow_hosts": func(p *parser, v value) { p.spec.Egress.AllowHosts = p.hosts(v) },
	"allow_ips":   (*parser).allowIPs,
}

// egress reads a word, a list of hosts, or both kinds of lists.
func (p *parser) egress(v value) {
	const example = "unrestricted, or a list such as [example.com, \"*.example.org\"]"
	switch v.node.Kind {
	case yaml.SequenceNode:
		p.spec.Egress = Egress{Limited: true, AllowHosts: p.hosts(v)}
	case yaml.MappingNode:
		p.spec.Egress.Limited = true
		p.fields(v, egressFields, "allow_hosts: [example.com]")
	default:
		if v.node.Kind != yaml.ScalarNode || v.node.Value != unrestricted {
			p.wants(v, "%s", example)
		}
	}
}

// maxEgress is how many hosts, and how many addresses, a spec may list.
const maxEgress = 1000

func (p *parser) hosts(v value) (hosts []string) {
	if !p.fewEnough(v) {
		return nil
	}
	for i, text := range p.texts(v, "[example.com]") {
		host, wrong := readHost(text)
		if wrong != "" {
			p.fault(v.node.Content[min(i, len(v.node.Content)-1)], v.path, "%q %s", clip(text), wrong)
			continue
		}
		hosts = append(hosts, host)
	}
	return hosts
}

func (p *parser) allowIPs(v value) {
	if !p.fewEnough(v) {
		return
	}
	for i, text := range p.texts(v, "[203.0.113.7, 198.51.100.0/24]") {
		at := v.node.Content[min(i, len(v.node.Content)-1)]
		net, err := netip.ParsePrefix(text)
		if addr, single := netip.ParseAddr(text); single == nil {
			net, err = netip.PrefixFrom(addr, addr.BitLen()), nil
		}
		switch {
		case err != nil:
			p.fault(at, v.path, "%q is no address and no network such as 198.51.100.0/24", clip(text))
		case !net.Addr().Is4():
			p.fault(at, v.path, "%q is IPv6, which sandboxes do not have", clip(text))
		default:
			p.spec.Egress.AllowIPs = append(p.spec.Egress.AllowIPs, net.Masked())
		}
	}
}

func (p *parser) fewEnough(v value) bool {
	if len(v.node.Content) <= maxEgress {
		return true
	}
	p.fault(v.place(), v.path, "lists %d entries, at most %d are allowed", len(v.node.Content), maxEgress)
	return false
}

// readHost reads a host's name, exact or *.suffix, in lower case, or says what is
// wrong with it.
func readHost(text string) (name, wrong string) {
	name = strings.TrimSuffix(strings.ToLower(text), ".")
	rest := strings.TrimPrefix(name, "*.")
	if _, err := netip.ParseAddr(rest); err == nil {
		return "", "is an address; write it as egress: {allow_ips: [" + rest + "]}"
	}
	if name == "*" {
		return "", "is everything; write egress: unrestricted"
	}
	if strings.ContainsAny(rest, ":/") {
		return "", "is more than a host's name; leave scheme, port and path out"
	}
	if len(rest) > 253 {
		return "", "is too long for a host's name"
	}
	for label := range strings.SplitSeq(rest, ".") {
		if label == "" || len(label) > 63 || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" || label[0] == '-' || label[len(label)-1] == '-' {
			return "", "is no host's name such as example.com or *.example.com"
		}
	}
	return name, ""
}

// reach adds a host to what a limited egress lists, unless it is listed, and says
// so: what at a place of the spec needs it.
func (p *parser) reach(host string, v value, what string) {
	e := &p.spec.Egress
	if addr, err := netip.ParseAddr(host); err == nil {
		if !e.Limited || addr.IsLoopback() || slices.ContainsFunc(e.AllowIPs, func(n netip.Prefix) bool { return n.Contains(addr) }) {
			return
		}
		e.AllowIPs = append(e.AllowIPs, netip.PrefixFrom(addr, addr.BitLen()))
	} else {
		if !e.Limited || e.lists(host) {
			return
		}
		e.AllowHosts = append(e.AllowHosts, host)
	}
	p.note(v.node.Line, v.path, "%s was added to egress, for %s", host, what)
}

// lists says whether a host's name is one of those that are allowed.
func (e Egress) lists(host string) bool {
	return slices.ContainsFunc(e.AllowHosts, func(h string) bool {
		suffix, any := strings.CutPrefix(h, "*")
		return h == host || any && strings.HasSuffix(host, suffix)
	})
}

// egressValue is an Egress as a spec has it.
func egressValue(e Egress) any {
	if !e.Limited {
		return unrestricted
	}
	ips := []string{}
	for _, net := range e.AllowIPs {
		ips = append(ips, net.String())
	}
	if len(ips) == 0 {
		return append([]string{}, e.AllowHosts...)
	}
	return map[string][]string{"allow_hosts": append([]string{}, e.AllowHosts...), "allow_ips": ips}
}
