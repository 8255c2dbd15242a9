package sandbox

import "paddock/internal/agents"

// The places inside every machine that a Rootfs must have as empty folders and
// a Driver mounts, read-only. They are the same for ever: a snapshot can only
// be restored over the set of mounts it was taken with.
const (
	// IdentityMount holds what tells one machine from another: the files
	// session-id, hostname and machine-id, and the folder control (0700, root)
	// with the socket the guest dials and the secret it shows. A machine with
	// brokered secrets has the authority that signs for their hosts there, ca.pem,
	// and with it all that this host trusts, ca-bundle.pem.
	IdentityMount = "/run/paddock"
	// RuntimeMount holds paddock-guest, which is pid 1, and paddock-demo-agent.
	RuntimeMount = "/opt/paddock/bin"
	// AgentsMount holds the installed agents.
	AgentsMount = agents.Mount
)
