// Package network gives each machine its network: a namespace of its own with one
// TAP device in it, and this process at the device's other end, which answers for
// everything outside (package gateway) as far as the rules allow (package egress).
// There is no bridge and no firewall rule on the host, and all machines have the
// same addresses.
//
// Where the host lets us make no TAP device, machines have Loopback instead.
package network
