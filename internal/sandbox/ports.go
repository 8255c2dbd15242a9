package sandbox

import "context"

// Rootfs gives the file systems that machines start from.
type Rootfs interface {
	// Prepare makes the template ready to be used as a root, if it is not yet,
	// and returns where it is. It may take many seconds the first time;
	// progress, when not nil, is called now and then with one short sentence.
	// An unknown template is an error naming those there are.
	Prepare(ctx context.Context, template string, progress func(string)) (Root, error)
}

// Root is a root file system on this host that machines may share read-only.
type Root struct {
	// Path is the folder that is the machine's "/" below its private overlay.
	// It has the mount points /run/paddock, /opt/paddock/bin and
	// /opt/paddock/agents.
	Path string
	// Fingerprint identifies its content; equal fingerprints, equal content.
	Fingerprint string
	// Warnings are sentences for people about what this root lacks here.
	Warnings []string
}

// Network gives each machine its network namespace.
type Network interface {
	// Attach makes the namespace of machine id and returns the path of its
	// namespace file. Attaching again is no error and gives the same path.
	Attach(ctx context.Context, id string) (nsPath string, err error)

	// Detach removes what Attach made. It is idempotent.
	Detach(ctx context.Context, id string) error

	// Warning is the sentence a session's create answer carries about its
	// network; empty when there is nothing to say.
	Warning() string
}
