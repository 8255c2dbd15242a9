package environment

import (
	"fmt"
	"regexp"
	"strconv"
)

// Network bounds what a session's sandbox may use of the network. Zero values: as
// much as the server gives each.
type Network struct {
	Connections int   `json:"connections,omitempty"` // open at once
	Bandwidth   int64 `json:"bandwidth,omitempty"`   // bytes in a second, each way
}

// The bounds of Network.
const (
	maxConnections               = 65535
	leastBandwidth, topBandwidth = int64(1000), int64(100e9)
)

var networkFields = fields{
	"connections": func(p *parser, v value) {
		text, ok := p.text(v, "a number such as 100")
		n, err := strconv.Atoi(text)
		if ok && (err != nil || n < 1 || n > maxConnections) {
			p.fault(v.node, v.path, "wants a number from 1 to %d, not %q", maxConnections, clip(text))
		}
		p.spec.Network.Connections = n
	},
	"bandwidth": (*parser).bandwidth,
}

var rate = regexp.MustCompile(`^([0-9]{1,12}(?:\.[0-9]{1,6})?) ?(B|KB|MB|GB|KiB|MiB|GiB)(?:/s)?$`)

var units = map[string]float64{"B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}

func (p *parser) bandwidth(v value) {
	const wants = "bytes in a second such as 10MB/s"
	text, ok := p.text(v, wants)
	if !ok {
		return
	}
	parts := rate.FindStringSubmatch(text)
	if parts == nil {
		p.fault(v.place(), v.path, "wants %s, not %q; the units are B, KB, MB, GB, KiB, MiB and GiB", wants, clip(text))
		return
	}
	number, _ := strconv.ParseFloat(parts[1], 64) // digits
	n := number * units[parts[2]]
	if n < float64(leastBandwidth) || n > float64(topBandwidth) {
		p.fault(v.node, v.path, "%s is out of range; it may be 1KB/s to 100GB/s", clip(text))
		return
	}
	p.spec.Network.Bandwidth = int64(n)
}

// networkValue is a Network as a spec has it; nil when nothing is bounded.
func networkValue(n Network) any {
	out := map[string]any{}
	if n.Connections > 0 {
		out["connections"] = n.Connections
	}
	if n.Bandwidth > 0 {
		out["bandwidth"] = fmt.Sprintf("%dB/s", n.Bandwidth)
	}
	if len(out) == 0 {
		return nil
	}
	return out
}
