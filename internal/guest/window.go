package guest

import (
	"os"

	"golang.org/x/sys/unix"

	"paddock/internal/fault"
	"paddock/internal/guestapi"
)

// window is what is held of one output stream of an exec: the bytes between
// what the host has taken and what was read from the pipe, at most
// guestapi.ExecWindow of them. Past that the pipe is not read and fills, and
// the process waits. All fields are guarded by the exec's lock.
type window struct {
	exec *execution
	pipe *os.File // non-blocking read end

	buf   []byte
	base  int64 // offset of buf[0] in the stream
	eof   bool  // every byte that will be given is in buf
	drop  bool  // nobody wants what follows: it is read and thrown away
	floor int64 // bytes that were in the stream when the process ended; -1 before
}

// pump reads the pipe until its end. What a child that outlives the exec writes
// later is read too, so that the child does not meet a closed pipe.
func (w *window) pump() {
	conn, err := w.pipe.SyscallConn()
	if err != nil {
		w.finish()
		return
	}
	for {
		w.awaitRoom()
		more := false
		err := conn.Read(func(fd uintptr) (ready bool) {
			more, ready = w.read(int(fd))
			return ready
		})
		if err != nil || !more { // an error: the pipe was closed here
			break
		}
	}
	w.finish()
}

// awaitRoom waits until there is room for more bytes, or nobody wants them.
func (w *window) awaitRoom() {
	e := w.exec
	e.mu.Lock()
	defer e.mu.Unlock()
	for len(w.buf) >= guestapi.ExecWindow && !w.drop {
		e.waitLocked()
	}
}

// read reads once, under the lock: so that what was read and what is still in
// the pipe can be told apart at any moment (see mark). ready is false when there
// is nothing to read yet, more is false at the end.
func (w *window) read(fd int) (more, ready bool) {
	e := w.exec
	e.mu.Lock()
	defer e.mu.Unlock()
	room := len(e.scratch)
	if !w.drop {
		room = min(room, guestapi.ExecWindow-len(w.buf))
	}
	n, err := unix.Read(fd, e.scratch[:room])
	switch {
	case err == unix.EAGAIN:
		return false, false
	case err == unix.EINTR:
		return true, true
	case err != nil || n == 0:
		return false, true
	}
	if !w.drop {
		w.buf = append(w.buf, e.scratch[:n]...)
		e.changeLocked()
	}
	return true, true
}

// mark notes, once the process has ended, how far its own output can reach:
// what was read and what is in the pipe now (TIOCINQ is Linux's FIONREAD). Locked.
func (w *window) mark() {
	w.floor = w.base + int64(len(w.buf))
	conn, err := w.pipe.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Control(func(fd uintptr) { // fails only on a closed pipe, which holds nothing
		if n, err := unix.IoctlGetInt(int(fd), unix.TIOCINQ); err == nil {
			w.floor += int64(n)
		}
	})
}

// whole says whether everything the process itself wrote is here. Locked.
func (w *window) whole() bool { return w.eof || w.base+int64(len(w.buf)) >= w.floor }

// detach ends the stream although a child still holds the pipe. Locked.
func (w *window) detach() { w.eof, w.drop = true, true }

func (w *window) finish() {
	_ = w.pipe.Close()
	w.exec.mu.Lock()
	defer w.exec.mu.Unlock()
	w.eof = true
	w.exec.changeLocked()
}

// from gives the bytes from offset on and whether nothing will follow them. The
// bytes before it are let go. Locked.
func (w *window) from(offset int64) (b []byte, eof bool, err error) {
	end := w.base + int64(len(w.buf))
	if offset < w.base || offset > end {
		return nil, false, fault.New(fault.BadRequest, "the output is held from offset %d to %d; %d was asked for", w.base, end, offset)
	}
	if offset > w.base {
		w.buf = append([]byte(nil), w.buf[offset-w.base:]...)
		w.base = offset
		w.exec.changeLocked()
	}
	return append([]byte(nil), w.buf...), w.eof, nil
}
