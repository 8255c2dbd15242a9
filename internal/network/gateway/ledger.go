package gateway

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// tuple names a TCP connection of the machine: its own port, and whom it is with.
type tuple struct {
	port uint16
	peer netip.AddrPort
}

// slotSize is what a tuple takes in the file: port, address, port.
const slotSize = 8

// ledger keeps which connections are open in a file that the kernel holds for us:
// should this process be killed, the next one knows which connections of the
// machine have nobody at their other end, and ends them.
type ledger struct {
	memory []byte

	mu   sync.Mutex
	free []int // slots; nil once closed
}

// openLedger opens the file and gives what an earlier process left in it.
func openLedger(path string, slots int, fresh bool) (_ *ledger, lost []tuple, err error) {
	flags := os.O_RDWR | os.O_CREATE | unix.O_NOFOLLOW
	if fresh {
		flags |= os.O_TRUNC
	}
	file, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("open connections: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, nil, fmt.Errorf("open connections: %w", err)
	}
	size := max(int(info.Size())/slotSize, slots) * slotSize // an earlier process may have allowed more
	if err := file.Truncate(int64(size)); err != nil {
		return nil, nil, fmt.Errorf("make room for connections: %w", err)
	}
	l := &ledger{}
	l.memory, err = unix.Mmap(int(file.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, nil, fmt.Errorf("map connections: %w", err)
	}
	for slot := range size / slotSize {
		if t, used := l.read(slot); used {
			lost = append(lost, t)
		}
		l.free = append(l.free, slot)
	}
	return l, lost, nil
}

func (l *ledger) slot(n int) []byte { return l.memory[n*slotSize : (n+1)*slotSize] }

func (l *ledger) read(n int) (t tuple, used bool) {
	b := l.slot(n)
	t.port = binary.BigEndian.Uint16(b)
	t.peer = netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[2:6])), binary.BigEndian.Uint16(b[6:]))
	return t, t.port != 0
}

// add takes note of a connection; false when there is no slot for it.
func (l *ledger) add(t tuple) (slot int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.free) == 0 {
		return 0, false
	}
	slot = l.free[len(l.free)-1]
	l.free = l.free[:len(l.free)-1]
	b, addr := l.slot(slot), t.peer.Addr().As4()
	copy(b[2:6], addr[:])
	binary.BigEndian.PutUint16(b[6:], t.peer.Port())
	binary.BigEndian.PutUint16(b, t.port) // last: with it the slot is used
	return slot, true
}

// remove forgets a connection.
func (l *ledger) remove(slot int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.slot(slot))
	l.free = append(l.free, slot)
}

// forget clears the slots that nobody uses, of connections that have been ended.
func (l *ledger) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, slot := range l.free {
		clear(l.slot(slot))
	}
}

// close lets go of the file. Nothing else may be under way.
func (l *ledger) close() error {
	if l.memory == nil {
		return nil
	}
	if err := unix.Munmap(l.memory); err != nil {
		return fmt.Errorf("unmap connections: %w", err)
	}
	l.memory = nil
	return nil
}
