package doctor

import (
	"errors"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// tryTap makes what each sandbox gets of the network: a namespace, and a TAP device
// in it. Both end with the thread that made them.
func tryTap(tun string) Check {
	result := make(chan Check)
	go func() {
		runtime.LockOSThread() // and never unlocks: the thread ends with this function
		result <- makeTap(tun)
	}()
	return <-result
}

func makeTap(tun string) Check {
	const without = "; sandboxes have no network without it"
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		fix := "use a kernel with network namespaces (CONFIG_NET_NS)"
		switch {
		case errors.Is(err, unix.EPERM):
			fix = "in a container: give it the capabilities SYS_ADMIN and NET_ADMIN"
		case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EUSERS):
			fix = "sysctl -w user.max_net_namespaces=10000"
		}
		return warning(fix, "can be opened, but a network namespace cannot be made: %v%s", err, without)
	}
	f, err := os.OpenFile(tun, os.O_RDWR, 0) // not before: it belongs to the namespace it was opened in
	if err != nil {
		return warning("modprobe tun", "cannot be opened in a namespace: %v%s", err, without)
	}
	defer f.Close()
	request, err := unix.NewIfreq("paddock")
	if err == nil {
		request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
		err = unix.IoctlIfreq(int(f.Fd()), unix.TUNSETIFF, request)
	}
	if err != nil {
		fix := "modprobe tun"
		if errors.Is(err, unix.EPERM) {
			fix = "in a container: give it the capability NET_ADMIN"
		}
		return warning(fix, "can be opened, but a TAP device cannot be made: %v%s", err, without)
	}
	return ok("a TAP device can be made in a namespace of its own")
}
