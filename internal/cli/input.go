package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// input reads standard input to its end; an interrupt ends that at once.
func (a *app) input(ctx context.Context) ([]byte, error) {
	f, ok := a.in.(*os.File)
	if !ok {
		return io.ReadAll(a.in)
	}
	var all bytes.Buffer
	for buf := make([]byte, 64<<10); ; {
		n, err := readSome(ctx, f, buf)
		all.Write(buf[:n])
		if err == io.EOF {
			return all.Bytes(), nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// readSome is Read that an interrupt ends, with errInterrupted. A terminal
// gives whole lines.
func readSome(ctx context.Context, f *os.File, buf []byte) (int, error) {
	for ctx.Err() == nil {
		ready, err := unix.Poll([]unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLIN}}, 100)
		if err != nil && err != unix.EINTR {
			return 0, fmt.Errorf("wait for input: %w", err)
		}
		if ready > 0 {
			return f.Read(buf)
		}
	}
	return 0, errInterrupted
}
