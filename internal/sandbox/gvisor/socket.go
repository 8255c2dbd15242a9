package gvisor

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
)

// socketName is the socket's name in the control folder.
const socketName = "host.sock"

// listen stands at the machine's control socket, in the place of whoever stood
// there before. The address goes through a descriptor of the folder, for a
// socket's path may have 107 bytes only.
func (f folder) listen() (*net.UnixListener, error) {
	if err := os.Remove(filepath.Join(f.control(), socketName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove old control socket: %w", err)
	}
	dir, err := os.Open(f.control())
	if err != nil {
		return nil, fmt.Errorf("open control folder: %w", err)
	}
	defer dir.Close()
	address := &net.UnixAddr{Net: "unix", Name: fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), socketName)}
	listener, err := net.ListenUnix("unix", address)
	if err != nil {
		return nil, fmt.Errorf("listen for the guest: %w", err)
	}
	// The address means nothing once dir is closed.
	listener.SetUnlinkOnClose(false)
	return listener, nil
}
