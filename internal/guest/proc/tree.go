package proc

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Task identifies a process for as long as the machine lives: a pid alone may
// be used again.
type Task struct {
	Pid   int
	Start uint64 // clock ticks since boot, /proc/PID/stat
}

// member is one process of a tree.
type member struct {
	Task
	parent int // pid; 1 once its parent is gone
}

// Tree is what tells the processes of an agent from all others: a group among
// their supplementary groups. Groups are inherited by every descendant, whether it
// left its session, lost its parent or emptied its environment, and only
// CAP_SETGID can drop them: so these are all that was started with the group,
// and nobody can sneak out of it.
type Tree struct {
	Group uint32
	apart atomic.Bool
}

// Apart says that the agent runs as root in a user namespace of its own (see
// Spec.Apart). There it may drop groups, as su does; but no way leads out of the
// namespace, so whoever is in another one than this process is of the tree, too.
func (t *Tree) Apart() { t.apart.Store(true) }

// has says whether a running process (no zombie) is of the tree, given its
// /proc/PID/status.
func (t *Tree) has(pid int, status []byte) bool {
	if inGroup(status, strconv.FormatUint(uint64(t.Group), 10)) {
		return true
	}
	if !t.apart.Load() || !alive(status) {
		return false
	}
	where, err := lookLink(pid, "ns/user")
	return err == nil && where != ownNamespace()
}

// ownNamespace names the user namespace of this process.
var ownNamespace = sync.OnceValue(func() string {
	name, _ := os.Readlink("/proc/self/ns/user") // without it all others are of the tree, which Apart says is so
	return name
})

// Scan lists the processes of the tree.
func Scan(tree *Tree) (tasks []Task) {
	for _, m := range members(tree) {
		tasks = append(tasks, m.Task)
	}
	return tasks
}

// members gives the tree by pid.
func members(tree *Tree) map[int]member {
	all := map[int]member{}
	for _, pid := range Pids() {
		status, err := look(pid, "status")
		if err != nil || !tree.has(pid, status) {
			continue
		}
		stat, err := look(pid, "stat")
		if err != nil {
			continue
		}
		if parent, start, ok := origin(stat); ok {
			all[pid] = member{Task{pid, start}, parent}
		}
	}
	return all
}

// alive reads /proc/PID/status: a process that is no zombie.
func alive(status []byte) bool {
	for line := range bytes.Lines(status) {
		if fields := bytes.Fields(line); len(fields) > 1 && string(fields[0]) == "State:" {
			return fields[1][0] != 'Z' && fields[1][0] != 'X'
		}
	}
	return false
}

// inGroup reads /proc/PID/status: a process that is no zombie and has the group.
func inGroup(status []byte, group string) bool {
	for line := range bytes.Lines(status) {
		fields := bytes.Fields(line)
		if len(fields) > 1 && string(fields[0]) == "Groups:" {
			return slices.ContainsFunc(fields[1:], func(g []byte) bool { return string(g) == group }) && alive(status)
		}
	}
	return false
}

// origin reads fields 4 and 22 of /proc/PID/stat: the parent and the start time.
// Field 2, the name, is in parentheses and may hold anything, so the count
// starts after the last one.
func origin(stat []byte) (parent int, start uint64, ok bool) {
	i := bytes.LastIndexByte(stat, ')')
	if i < 0 {
		return 0, 0, false
	}
	fields := bytes.Fields(stat[i+1:]) // fields[0] is field 3
	if len(fields) < 20 {
		return 0, 0, false
	}
	parent, err := strconv.Atoi(string(fields[1]))
	if err != nil {
		return 0, 0, false
	}
	start, err = strconv.ParseUint(string(fields[19]), 10, 64)
	return parent, start, err == nil
}

// Past is a tree as it was at a moment, for KillTree to spare: its processes,
// and what they have started since. Only what the agent's own processes start is
// news: its shells and helpers are there before a turn and do the turn's work.
type Past struct {
	tasks map[Task]bool
	own   map[Task]bool // the agent and its descendants among them
}

// Remember gives the tree as it is now; agent is the pid of its agent.
func Remember(tree *Tree, agent int) Past {
	all := members(tree)
	p := Past{tasks: map[Task]bool{}, own: map[Task]bool{}}
	for _, m := range all {
		p.tasks[m.Task] = true
		up := m
		for range all { // no longer, should the pids of a moving tree make a ring
			if up.Pid == agent {
				p.own[m.Task] = true
			}
			up = all[up.parent]
		}
	}
	return p
}

// spares says whether a process of the tree all is the past's, or descends from
// one that is not the agent's own. One that has lost its parents is not spared.
func (p Past) spares(m member, all map[int]member) bool {
	if p.tasks[m.Task] {
		return true
	}
	for range all { // no longer, should the pids of a moving tree make a ring
		parent, there := all[m.parent]
		if !there {
			return false
		}
		if p.tasks[parent.Task] {
			return !p.own[parent.Task]
		}
		m = parent
	}
	return false
}

// calm is how many scans in a row have to find nobody before a tree counts as
// ended: what is being forked while one scan reads is only in the next.
const calm = 2

// A tree that still starts processes after wild scans is taken for one that
// forks faster than it can be read; so is any in a machine of crowd processes,
// where each look at one waits for its turn among them.
const (
	wild  = 3
	crowd = 64
)

// KillTree ends every process of the tree but those that spare spares,
// and returns when none of them is left or ctx is over. Processes are stopped
// before any is killed, so that one which forks in a loop cannot outrun it; where
// it might all the same, the whole machine stands still (see StopAll) until it
// is over.
func KillTree(ctx context.Context, tree *Tree, spare Past) {
	stopped := map[Task]bool{}
	goOn := func() {}
	defer func() { goOn() }()
	still := false
	for scans, fresh := 1, true; fresh && ctx.Err() == nil; scans++ {
		if !still && (scans == wild || len(Pids()) >= crowd) {
			still, goOn = true, StopAll()
		}
		fresh = false
		all := members(tree)
		for _, m := range all {
			if !stopped[m.Task] && !spare.spares(m, all) {
				stopped[m.Task], fresh = true, true
				stop(m.Pid)
			}
		}
	}
	for clean := 0; clean < calm; {
		clean++
		all := members(tree)
		for _, m := range all {
			if stopped[m.Task] || !spare.spares(m, all) {
				clean = 0
				_ = unix.Kill(m.Pid, unix.SIGKILL)
			}
		}
		if clean > 0 {
			continue
		}
		select {
		case <-time.After(2 * time.Millisecond):
		case <-ctx.Done():
			return
		}
	}
}
