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
	user := d.agentUser()
	user.Groups = []uint32{d.options.TreeGroup}
	spec, err := d.command(user, argv, dir, d.sessionEnv(), d.agentEnv())
	if err != nil {
		return nil, err
	}
	spec.Files = stdio
	started := spec
	launcher, confined := d.options.Launcher, d.confined()
	switch {
	case len(launcher) == 0 && confined != nil:
		return nil, fault.New(fault.NotSupported, "permissions.filesystem cannot be kept here, so the agent is not started")
	case len(launcher) == 0:
	case confined != nil:
		started = spec.Caged(launcher, d.options.AgentTasks, d.writable(*confined))
	case user.UID == 0:
		started = spec.Apart(launcher, d.options.AgentTasks)
	default:
		started = spec.Limited(launcher, d.options.AgentTasks)
	}
	p, err := d.table.Start(started)
	if err != nil {
		return nil, startFault(err, spec)
	}
	d.agentPid.Store(int64(p.Pid))
	d.relief.agent.Store(int64(p.Pid))
	return p, nil
}
