package gateway

import (
	"fmt"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// MTU is that of the link. Large packets are what makes a user-mode network fast.
const MTU = 65520

// maxFrame is the longest frame.
const maxFrame = MTU + header.EthernetMinimumSize

// link is the TAP device as the stack's lowest layer. A machine that is silent
// costs no buffer and no thread, only the goroutine that waits.
type link struct {
	tap   *os.File
	raw   syscall.RawConn
	sieve func(frame []byte) (pass bool) // of received frames
	work  sync.WaitGroup

	mu    sync.RWMutex
	upper stack.NetworkDispatcher
	mtu   uint32
}

var _ stack.LinkEndpoint = (*link)(nil)

func newLink(tap *os.File, sieve func([]byte) bool) (*link, error) {
	raw, err := tap.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("use TAP device: %w", err)
	}
	return &link{tap: tap, raw: raw, sieve: sieve, mtu: maxFrame}, nil
}

// buffers are of maxFrame bytes, for receiving.
var buffers = sync.Pool{New: func() any { b := make([]byte, maxFrame); return &b }}

// receive hands frames to the stack until the device is closed.
func (l *link) receive() {
	_ = l.raw.Read(func(fd uintptr) (done bool) { // the error says that it was closed
		b := buffers.Get().(*[]byte)
		defer func() { buffers.Put(b) }()
		for {
			n, err := unix.Read(int(fd), *b)
			switch {
			case err == unix.EINTR:
				continue
			case err == unix.EAGAIN:
				return false
			case err != nil: // EBADFD: the device is gone
				return true
			case n < header.EthernetMinimumSize || !l.sieve((*b)[:n]):
				continue
			}
			l.deliver((*b)[:n])
		}
	})
}

// deliver hands one frame to the stack. The bytes are copied, for the stack
// keeps them.
func (l *link) deliver(frame []byte) {
	l.mu.RLock()
	upper := l.upper
	l.mu.RUnlock()
	if upper == nil {
		return
	}
	pkt := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithData(frame)})
	upper.DeliverNetworkPacket(0, pkt)
	pkt.DecRef()
}

// WritePackets is part of stack.LinkEndpoint.
func (l *link) WritePackets(pkts stack.PacketBufferList) (int, tcpip.Error) {
	for i, pkt := range pkts.AsSlice() {
		if err := l.send(pkt.AsSlices()); err != nil {
			return i, &tcpip.ErrClosedForSend{}
		}
	}
	return pkts.Len(), nil
}

// send writes one frame, given in pieces.
func (l *link) send(pieces [][]byte) (err error) {
	closed := l.raw.Write(func(fd uintptr) bool {
		for {
			_, err = unix.Writev(int(fd), pieces)
			if err != unix.EINTR {
				return err != unix.EAGAIN
			}
		}
	})
	if closed != nil {
		return closed
	}
	return err
}

// Attach is part of stack.LinkEndpoint.
func (l *link) Attach(upper stack.NetworkDispatcher) {
	l.mu.Lock()
	was := l.upper
	l.upper = upper
	l.mu.Unlock()
	if was == nil && upper != nil {
		l.work.Go(l.receive)
	}
}

// IsAttached is part of stack.LinkEndpoint.
func (l *link) IsAttached() bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.upper != nil
}

// MTU is part of stack.LinkEndpoint.
func (l *link) MTU() uint32 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.mtu
}

// SetMTU is part of stack.LinkEndpoint.
func (l *link) SetMTU(mtu uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mtu = mtu
}

// MaxHeaderLength is part of stack.LinkEndpoint.
func (*link) MaxHeaderLength() uint16 { return 0 }

// LinkAddress is part of stack.LinkEndpoint.
func (*link) LinkAddress() tcpip.LinkAddress { return MAC }

// SetLinkAddress is part of stack.LinkEndpoint. It is fixed.
func (*link) SetLinkAddress(tcpip.LinkAddress) {}

// Capabilities is part of stack.LinkEndpoint: what comes over a TAP device was
// not damaged on the way, and the machine's kernel believes the same.
func (*link) Capabilities() stack.LinkEndpointCapabilities {
	return stack.CapabilityRXChecksumOffload | stack.CapabilityTXChecksumOffload
}

// ARPHardwareType is part of stack.LinkEndpoint.
func (*link) ARPHardwareType() header.ARPHardwareType { return header.ARPHardwareEther }

// AddHeader is part of stack.LinkEndpoint. The Ethernet layer above does it.
func (*link) AddHeader(*stack.PacketBuffer) {}

// ParseHeader is part of stack.LinkEndpoint, likewise.
func (*link) ParseHeader(*stack.PacketBuffer) bool { return true }

// Close is part of stack.LinkEndpoint.
func (l *link) Close() { _ = l.tap.Close() }

// Wait is part of stack.LinkEndpoint.
func (l *link) Wait() { l.work.Wait() }

// SetOnCloseAction is part of stack.LinkEndpoint.
func (*link) SetOnCloseAction(func()) {}
