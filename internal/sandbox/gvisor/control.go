package gvisor

import (
	"context"
	"fmt"
	"runtime/debug"

	"paddock/internal/sandbox"
)

// control asks and changes one machine's kernel in the words of the gVisor that
// the machine was started with. All other verbs (limits, statistics, watching,
// killing, removal) are the host's and know no version.
type control interface {
	// find gives the pids of the machine's kernel and gofer as gVisor noted
	// them, or sandbox.ErrGone.
	find(ctx context.Context) (kernel, gofer int, err error)
	// observe says whether the machine is running or paused, or sandbox.ErrGone.
	// The kernel is asked only whether it lives when was is one of the two; a
	// word between makes it look.
	observe(ctx context.Context, was status) (status, error)
	// tell makes the kernel take a verb. When ctx ends first, nobody knows what
	// came of it.
	tell(ctx context.Context, v verb) error
	// goOn sends SIGCONT to the first process inside.
	goOn(ctx context.Context) error
	// saveFiles writes the machine's files into an empty folder. When ctx ends
	// first, the kernel may still be writing.
	saveFiles(ctx context.Context, folder string) error
}

// control gives the control of a machine: in this process when the machine's
// gVisor is ours, by the program of the build that made it when it is another.
func (d *Driver) control(handle sandbox.Handle) (control, error) {
	here := direct{folder: d.folderOf(handle.ID), id: handle.ID}
	if d.options.Runtimes == nil || handle.Runtime == "" || handle.Runtime == d.options.RuntimeDigest {
		return here, nil
	}
	made, err := d.options.Runtimes.Find(handle.Runtime)
	if err != nil {
		return nil, fmt.Errorf("find runtime: %w", err)
	}
	// Builds that left no manifest had the gVisor of the first one that did.
	if made.GVisor == "" || made.GVisor == Version() {
		return here, nil
	}
	program, err := d.options.Runtimes.Program(made)
	if err != nil {
		return nil, fmt.Errorf("find runtime: %w", err)
	}
	return kept{direct: here, program: program}, nil
}

// Version is the module version of the gVisor in this program.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == "gvisor.dev/gvisor" {
				return m.Version
			}
		}
	}
	return "unknown"
}
