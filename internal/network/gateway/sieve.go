package gateway

import (
	"gvisor.dev/gvisor/pkg/tcpip/checksum"
	"gvisor.dev/gvisor/pkg/tcpip/header"
)

// sieve looks at each frame from the machine before the stack does. The stack
// answers for all addresses, and so would say that everybody can be pinged.
// Echoes to others than the gateway are answered here: prohibited.
func (g *Gateway) sieve(frame []byte) (pass bool) {
	if header.Ethernet(frame).Type() != header.IPv4ProtocolNumber {
		return true
	}
	ip := header.IPv4(frame[header.EthernetMinimumSize:])
	if len(ip) < header.IPv4MinimumSize || ip.TransportProtocol() != header.ICMPv4ProtocolNumber ||
		ip.DestinationAddress() == toStack(Addr) {
		return true
	}
	if l := int(ip.HeaderLength()); len(ip) >= l+header.ICMPv4MinimumSize && header.ICMPv4(ip[l:]).Type() == header.ICMPv4Echo {
		_ = g.link.send([][]byte{prohibited(ip)})
		to := ip.DestinationAddress()
		g.deny("icmp", to.String(), 0, "only the gateway answers echoes")
	}
	return false
}

// prohibited is the frame which says that a packet may not pass (RFC 792, 1812).
func prohibited(ip header.IPv4) []byte {
	quote := ip[:min(len(ip), int(ip.HeaderLength())+8)]
	frame := make([]byte, header.EthernetMinimumSize+header.IPv4MinimumSize+header.ICMPv4MinimumSize+len(quote))
	header.Ethernet(frame).Encode(&header.EthernetFields{SrcAddr: MAC, DstAddr: GuestMAC, Type: header.IPv4ProtocolNumber})
	message := header.ICMPv4(frame[header.EthernetMinimumSize+header.IPv4MinimumSize:])
	message.SetType(header.ICMPv4DstUnreachable)
	message.SetCode(header.ICMPv4AdminProhibited)
	copy(message[header.ICMPv4MinimumSize:], quote)
	message.SetChecksum(^checksum.Checksum(message, 0))
	encodeIP(frame, header.ICMPv4ProtocolNumber, toStack(Addr), ip.SourceAddress())
	return frame
}
