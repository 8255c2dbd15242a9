package guest

import (
	"context"
	"log/slog"
	"net"
	"os"
	"strings"

	"paddock/internal/guest/proc"
	"paddock/internal/guest/trust"
	"paddock/internal/guestapi"
)

// maxTasks bounds the tasks (processes and threads) of each user in a machine
// that was given no limit.
const maxTasks = 1280

// LimitTasks takes over the task limit that the machine was started with, for
// the daemon and all it starts, and returns the part of it that the agent and
// what it starts may use: four fifths, so that execs work beside an agent that
// forks without end.
func LimitTasks() (agent uint64, err error) {
	n, err := proc.LimitTasks(maxTasks)
	return n / 5 * 4, err
}

// LaunchWord as the first argument makes the guest's program a launcher.
const LaunchWord = "launch"

// TreeGroup is the group that marks the agent's tree: nobody else is in it, no
// file belongs to it.
const TreeGroup = 61001

// Defaults are the options inside a sandbox, where the places are those of
// package guestapi; agentTasks is what LimitTasks gave.
func Defaults(build string, agentTasks uint64, adapters map[string]NewAdapter) Options {
	return Options{
		Adapters: adapters,
		Build:    build,
		Dial: func(ctx context.Context) (net.Conn, error) {
			var dialer net.Dialer
			return dialer.DialContext(ctx, "unix", guestapi.SocketPath)
		},
		// Both are read anew each time: a restored copy finds others there.
		Secret:   func() (string, error) { return readWord(guestapi.SecretPath) },
		Session:  func() string { s, _ := readWord(guestapi.IdentityDir + "/session-id"); return s },
		Hostname: takeHostname,
		Trust: func() (map[string]string, error) {
			return trust.Install("/", guestapi.IdentityDir+"/ca.pem", guestapi.IdentityDir+"/ca-bundle.pem")
		},
		Workspace:  guestapi.Workspace,
		Agent:      agentUser,
		Root:       rootUser,
		TreeGroup:  TreeGroup,
		AgentTasks: agentTasks,
		Launcher:   []string{guestapi.GuestPath, LaunchWord},
		Log:        slog.New(slog.DiscardHandler),
	}
}

func readWord(path string) (string, error) {
	b, err := os.ReadFile(path)
	return strings.TrimSpace(string(b)), err
}
