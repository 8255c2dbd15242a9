// Package gateway is the outside of one machine's network: a TCP/IP stack at the
// other end of its TAP device, which answers names, and hands connections on
// through ordinary sockets of this process as far as the machine's gate allows.
package gateway
