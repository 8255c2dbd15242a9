package doctor

import (
	"net"
	"os"
	"testing"
)

// What a sandbox is given of the network is made for real, apart from this host's
// own, and where it cannot be made the check says what would mend that.
func TestTryTap(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root makes network namespaces")
	}
	if c := tryTap(os.DevNull); c.Status != Warning || c.Fix == "" {
		t.Errorf("with a device that is none: %+v", c)
	}
	const tun = "/dev/net/tun"
	if _, err := os.Stat(tun); err != nil {
		t.Skipf("this host has no TAP devices: %v", err)
	}
	if c := tryTap(tun); c.Status != OK {
		t.Errorf("%+v", c)
	}
	if _, err := net.InterfaceByName("paddock"); err == nil {
		t.Error("the device is this host's")
	}
}
