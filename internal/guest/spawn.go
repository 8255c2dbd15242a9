package guest

import (
	"os"

	"paddock/internal/fault"
	"paddock/internal/guest/proc"
)

// spawn starts a process of the agent; see Services.
func (d *Daemon) spawn(argv []string, dir string, stdio [3]*os.File) (*proc.Process, error) {
	user := d.options.Agent
	user.Groups = []uint32{d.options.TreeGroup}
	spec, err := d.command(user, argv, dir, d.sessionEnv())
	if err != nil {
		return nil, err
	}
	spec.Files = stdio
	started := spec
	if len(d.options.Launcher) > 0 {
		started = spec.Limited(d.options.Launcher, d.options.AgentTasks)
	}
	if confined := d.confined(); confined != nil {
		if len(d.options.Launcher) == 0 {
			return nil, fault.New(fault.NotSupported, "permissions.filesystem cannot be kept here, so the agent is not started")
		}
		started = spec.Caged(d.options.Launcher, d.options.AgentTasks, d.writable(*confined))
	}
	p, err := d.table.Start(started)
	if err != nil {
		return nil, startFault(err, spec)
	}
	d.agentPid.Store(int64(p.Pid))
	d.relief.agent.Store(int64(p.Pid))
	return p, nil
}
