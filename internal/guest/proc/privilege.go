package proc

import (
	"fmt"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Holds says whether this process may use the capability (unix.CAP_…).
func Holds(capability uint) (bool, error) {
	sets, err := capabilities()
	if err != nil {
		return false, err
	}
	return sets[capability/32].Effective&(1<<(capability%32)) != 0, nil
}

// GiveUp takes the capability from every set of every thread of this process, for
// good: nothing that it starts from now on can gain it, not even as root. To give
// up what is not there is no error.
func GiveUp(capability uint) error {
	sets, err := capabilities()
	if err != nil {
		return err
	}
	if _, _, errno := syscall.AllThreadsSyscall(unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, uintptr(capability), 0); errno != 0 {
		return fmt.Errorf("give up capability %d: %w", capability, errno)
	}
	set, bit := &sets[capability/32], uint32(1)<<(capability%32)
	set.Effective &^= bit
	set.Permitted &^= bit
	set.Inheritable &^= bit
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3} // pid 0: the thread that calls
	var pin runtime.Pinner                                                 // all threads read from there
	defer pin.Unpin()
	pin.Pin(&header)
	pin.Pin(&sets[0])
	_, _, errno := syscall.AllThreadsSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&sets[0])), 0)
	if errno != 0 {
		return fmt.Errorf("give up capability %d: %w", capability, errno)
	}
	return nil
}

// capabilities reads the sets of the calling thread; all threads have the same,
// but for the bounding set.
func capabilities() (sets [2]unix.CapUserData, err error) {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return sets, fmt.Errorf("read capabilities: %w", err)
	}
	return sets, nil
}
