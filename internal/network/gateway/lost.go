package gateway

import (
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/checksum"
	"gvisor.dev/gvisor/pkg/tcpip/header"
)

// probeWaits are how long after one another the machine is asked about lost
// connections: it answers no more than twice in a second about one.
var probeWaits = []time.Duration{0, time.Second, 3 * time.Second}

// endLost ends the machine's halves of connections whose other half died with an
// earlier process. A reader there would wait for ever. To each goes a SYN, as
// if its peer began anew: the machine's kernel answers with where it stands
// (RFC 5961 §4), which this stack does not know and resets.
func (g *Gateway) endLost(lost []tuple) {
	for _, wait := range probeWaits {
		select {
		case <-g.ctx.Done():
			return // they stay in the file
		case <-time.After(wait):
		}
		for _, t := range lost {
			_ = g.link.send([][]byte{probe(t)}) // who closed the device ends this, too
		}
	}
	g.flows.forget()
}

// probe is a frame with a SYN from the connection's peer.
func probe(t tuple) []byte {
	const length = header.EthernetMinimumSize + header.IPv4MinimumSize + header.TCPMinimumSize
	frame := make([]byte, length)
	header.Ethernet(frame).Encode(&header.EthernetFields{SrcAddr: MAC, DstAddr: GuestMAC, Type: header.IPv4ProtocolNumber})
	from, to := toStack(t.peer.Addr()), toStack(GuestAddr)
	segment := header.TCP(frame[header.EthernetMinimumSize+header.IPv4MinimumSize:])
	segment.Encode(&header.TCPFields{SrcPort: t.peer.Port(), DstPort: t.port, SeqNum: 1, DataOffset: header.TCPMinimumSize,
		Flags: header.TCPFlagSyn, WindowSize: 1024})
	pseudo := header.PseudoHeaderChecksum(header.TCPProtocolNumber, from, to, header.TCPMinimumSize)
	segment.SetChecksum(^checksum.Checksum(segment, pseudo))
	encodeIP(frame, header.TCPProtocolNumber, from, to)
	return frame
}

// encodeIP writes the IP header of a frame whose payload is there.
func encodeIP(frame []byte, protocol tcpip.TransportProtocolNumber, from, to tcpip.Address) {
	ip := header.IPv4(frame[header.EthernetMinimumSize:])
	ip.Encode(&header.IPv4Fields{TotalLength: uint16(len(ip)), TTL: 64, Protocol: uint8(protocol), SrcAddr: from, DstAddr: to})
	ip.SetChecksum(^ip.CalculateChecksum())
}
