package guest

import (
	"maps"
	"os"

	"paddock/internal/fault"
	"paddock/internal/guest/proc"
)

// given is the environment of the agent that is not the daemon's choice.
func (d *Daemon) given() map[string]string {
	d.mu.Lock()
	defer d.mu.Unlock()
	env := map[string]string{}
	if d.config != nil {
		maps.Copy(env, d.config.Env)
		maps.Copy(env, d.config.Agent.Env)
	}
	return env
}

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
