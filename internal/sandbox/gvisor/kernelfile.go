package gvisor

import (
	"bytes"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// readText reads a small file of the kernel's. Several of each machine are read
// at each look: os.ReadFile, which has the runtime's poller learn of each file and
// forget it, makes ten system calls of four.
func readText(path string) ([]byte, error) {
	fd, err := again(func() (int, error) { return unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	text := make([]byte, 0, 4096)
	for {
		text = slices.Grow(text, 512)
		n, err := again(func() (int, error) { return unix.Read(fd, text[len(text):cap(text)]) })
		if err != nil {
			return nil, &fs.PathError{Op: "read", Path: path, Err: err}
		}
		if n == 0 {
			return text, nil
		}
		text = text[:len(text)+n]
	}
}

// again repeats a system call that a signal interrupts.
func again(call func() (int, error)) (n int, err error) {
	for {
		if n, err = call(); err != unix.EINTR {
			return n, err
		}
	}
}

func readNumber(path string) (int64, error) {
	text, err := readText(path)
	if err != nil {
		return 0, goneOr(err)
	}
	n, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", filepath.Base(path), err)
	}
	return n, nil
}

// readFields adds up the numbers after these names in a file of "name number"
// lines; a kernel that does not have a line counts as 0.
func readFields(path string, names ...string) (sum int64, err error) {
	text, err := readText(path)
	if err != nil {
		return 0, goneOr(err)
	}
	for line := range bytes.Lines(text) {
		name, value, _ := bytes.Cut(line, []byte(" "))
		if !slices.Contains(names, string(name)) {
			continue
		}
		n, err := strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read %s of %s: %w", name, filepath.Base(path), err)
		}
		sum += n
	}
	return sum, nil
}
