package guest

import (
	"os"

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
	p, err := d.table.Start(started)
	if err != nil {
		return nil, startFault(err, spec)
	}
	d.agentPid.Store(int64(p.Pid))
	d.relief.agent.Store(int64(p.Pid))
	return p, nil
}
