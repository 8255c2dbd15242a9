package guest

import (
	"context"
	"log/slog"
	"net"
	"os"
	"strings"

	"paddock/internal/guestapi"
)

// The limits of a machine that says nothing else, in tasks (processes and
// threads) of the agent's user.
const (
	defaultAgentTasks = 1024
	execTasksMore     = 256
)

// TreeGroup is the group that marks the agent's tree: nobody else is in it, no
// file belongs to it.
const TreeGroup = 61001

// Defaults are the options inside a sandbox, where the places are those of
// package guestapi.
func Defaults(build string, adapters map[string]NewAdapter) Options {
	return Options{
		Adapters: adapters,
		Build:    build,
		Dial: func(ctx context.Context) (net.Conn, error) {
			var dialer net.Dialer
			return dialer.DialContext(ctx, "unix", guestapi.SocketPath)
		},
		// Both are read anew each time: a restored copy finds others there.
		Secret:     func() (string, error) { return readWord(guestapi.SecretPath) },
		Session:    func() string { s, _ := readWord(guestapi.IdentityDir + "/session-id"); return s },
		Workspace:  guestapi.Workspace,
		Agent:      agentUser,
		Root:       rootUser,
		TreeGroup:  TreeGroup,
		AgentTasks: defaultAgentTasks,
		ExecTasks:  defaultAgentTasks + execTasksMore,
		Log:        slog.New(slog.DiscardHandler),
	}
}

func readWord(path string) (string, error) {
	b, err := os.ReadFile(path)
	return strings.TrimSpace(string(b)), err
}
