package daemon

import (
	"net"
	"os"
	"strings"
)

// supervisor is the service manager that started this server, if one did and
// wants to hear from it: NOTIFY_SOCKET names where, see sd_notify(3).
type supervisor struct{ socket string }

// findSupervisor takes the supervisor's address out of the environment: no
// child of ours is to speak for us.
func findSupervisor() supervisor {
	s := supervisor{os.Getenv("NOTIFY_SOCKET")}
	_ = os.Unsetenv("NOTIFY_SOCKET")
	return s
}

// tell sends lines like "READY=1". It is best effort: who does not listen does
// not hear.
func (s supervisor) tell(lines ...string) {
	if s.socket == "" {
		return
	}
	name := s.socket
	if rest, abstract := strings.CutPrefix(name, "@"); abstract {
		name = "\x00" + rest
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Net: "unixgram", Name: name})
	if err != nil {
		return
	}
	defer conn.Close()
	_, _ = conn.Write([]byte(strings.Join(lines, "\n")))
}
