package network

import (
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"paddock/internal/network/gateway"
)

// device is the TAP device's name in each namespace, and inside each machine.
const device = "eth0"

// errNoDevice says that a namespace has no TAP device.
var errNoDevice = errors.New("the namespace has no TAP device")

// openTap attaches to the TAP device of the calling thread's namespace, making
// it if it is not there. It persists: closing the file, or dying, leaves it for
// the next server. The file can be waited on without a thread.
func openTap() (*os.File, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open /dev/net/tun: %w", err)
	}
	request, err := unix.NewIfreq(device)
	if err != nil {
		return nil, err
	}
	request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("attach to TAP device: %w", err)
	}
	if err := unix.IoctlSetInt(fd, unix.TUNSETPERSIST, 1); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("make TAP device persist: %w", err)
	}
	return os.NewFile(uintptr(fd), "tap"), nil
}

// configure gives the device of the calling thread's namespace what the machine's
// kernel takes over when it starts; it strips addresses and routes off then, so
// they are set again before each start.
func configure() error {
	link, err := netlink.LinkByName(device)
	if err != nil {
		return fmt.Errorf("find TAP device: %w", err)
	}
	if err := netlink.LinkSetHardwareAddr(link, net.HardwareAddr(gateway.GuestMAC)); err != nil {
		return fmt.Errorf("set MAC: %w", err)
	}
	if err := netlink.LinkSetMTU(link, gateway.MTU); err != nil {
		return fmt.Errorf("set MTU: %w", err)
	}
	// Without IPv6 there is no waiting for it. A host without it has no such file.
	_ = os.WriteFile("/proc/sys/net/ipv6/conf/"+device+"/disable_ipv6", []byte("1"), 0)
	if err := netlink.LinkSetUp(link); err != nil {
		return fmt.Errorf("bring TAP device up: %w", err)
	}
	mask := net.CIDRMask(24, 32)
	addr := &netlink.Addr{IPNet: &net.IPNet{IP: gateway.GuestAddr.AsSlice(), Mask: mask}}
	if err := netlink.AddrReplace(link, addr); err != nil {
		return fmt.Errorf("set address: %w", err)
	}
	via := net.IP(gateway.Addr.AsSlice())
	if err := netlink.RouteReplace(&netlink.Route{LinkIndex: link.Attrs().Index, Gw: via}); err != nil {
		return fmt.Errorf("set route: %w", err)
	}
	neighbour := &netlink.Neigh{LinkIndex: link.Attrs().Index, IP: via, HardwareAddr: net.HardwareAddr(gateway.MAC), State: netlink.NUD_PERMANENT}
	if err := netlink.NeighSet(neighbour); err != nil {
		return fmt.Errorf("set neighbour: %w", err)
	}
	return nil
}

// hasDevice says whether the calling thread's namespace has the device.
func hasDevice() bool {
	_, err := net.InterfaceByName(device)
	return err == nil
}
