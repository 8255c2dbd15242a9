package daemon

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// listen opens the server's port. A busy one is refused with the pid of whoever
// has it, where that can be seen.
func listen(addr string) (net.Listener, error) {
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return nil, &MisconfiguredError{fmt.Errorf("listen on %q: %w; --listen wants host:port", addr, err)}
	}
	l, err := net.Listen("tcp", addr)
	if errors.Is(err, unix.EADDRINUSE) {
		who := ""
		if pid := listenerPID(addr); pid != "" {
			who = " by pid " + pid
		}
		return nil, fmt.Errorf("%s is in use%s; stop it, or choose another address with --listen", addr, who)
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	return l, nil
}

// listenerPID finds the process that listens on a TCP port: the socket's inode
// from /proc/net/tcp*, then the process that has it open. Empty when it cannot
// be seen.
func listenerPID(addr string) string {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return ""
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return ""
	}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		if inode := listeningInode(table, n); inode != "" {
			return socketHolder(inode)
		}
	}
	return ""
}

func listeningInode(table string, port uint64) string {
	f, err := os.Open(table)
	if err != nil {
		return ""
	}
	defer f.Close()
	const listening = "0A"
	for lines := bufio.NewScanner(f); lines.Scan(); {
		// sl local_address rem_address st tx:rx tr:tm retrnsmt uid timeout inode
		fields := strings.Fields(lines.Text())
		if len(fields) < 10 || fields[3] != listening {
			continue
		}
		_, hex, _ := strings.Cut(fields[1], ":")
		if p, err := strconv.ParseUint(hex, 16, 16); err == nil && p == port {
			return fields[9]
		}
	}
	return ""
}

func socketHolder(inode string) string {
	fds, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, fd := range fds {
		if target, err := os.Readlink(fd); err == nil && target == "socket:["+inode+"]" {
			return strings.Split(fd, "/")[2]
		}
	}
	return ""
}
