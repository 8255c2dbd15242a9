package guest

import (
	"os"
	"strconv"

	"paddock/internal/guest/proc"
)

// agentOOMScore makes the kernel of a machine that is out of memory end the
// agent before the daemon. Descendants inherit it.
const agentOOMScore = 500

// spawn starts a process of the agent; see Services.
func (d *Daemon) spawn(argv []string, dir string, stdio [3]*os.File) (*proc.Process, error) {
	user := d.options.Agent
	user.Groups = []uint32{d.options.TreeGroup}
	spec, err := d.command(user, argv, dir, d.sessionEnv())
	if err != nil {
		return nil, err
	}
	spec.Files, spec.MaxTasks = stdio, d.options.AgentTasks
	p, err := d.table.Start(spec)
	if err != nil {
		return nil, startFault(err, spec)
	}
	// Best effort: not every kernel has it.
	_ = os.WriteFile("/proc/"+strconv.Itoa(p.Pid)+"/oom_score_adj", []byte(strconv.Itoa(agentOOMScore)), 0)
	return p, nil
}
