package program

import (
	"os"

	"golang.org/x/sys/unix"
)

// unread says how many bytes of a pipe nobody has read, nor will; 0 where that
// is not certain, as when somebody still has its other end.
func unread(pipe *os.File) (bytes int64) {
	raw, err := pipe.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) { // fails on a closed file: nothing is certain then
		end := []unix.PollFd{{Fd: int32(fd)}}
		if _, err := unix.Poll(end, 0); err != nil || end[0].Revents&unix.POLLERR == 0 {
			return
		}
		if n, err := unix.IoctlGetInt(int(fd), unix.TIOCINQ); err == nil {
			bytes = int64(n)
		}
	})
	return bytes
}
