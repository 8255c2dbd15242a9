package proc

import (
	"bytes"
	"maps"
	"os"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// Pids lists the processes that there are, zombies included.
func Pids() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // what could be read is as good as it gets
	var pids []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// oldest is how many processes are looked at whether somebody has stopped them,
// before this package stops all: a machine so crowded that it needs that takes
// long for each look, and what crowds it is younger.
const oldest = 16

// stopped lists those of the n oldest processes, and of the known ones, that
// stand still for a signal of somebody else. (Young ones have the highest
// numbers, but for those after an overflow, and who is known may be no more.)
func stopped(n int, known map[int]bool) map[int]bool {
	found := map[int]bool{}
	pids := Pids()
	slices.Sort(pids)
	for _, pid := range slices.Concat(pids[:min(n, len(pids))], slices.Collect(maps.Keys(known))) {
		stat, err := look(pid, "stat")
		if err == nil && standsStill(stat) {
			found[pid] = true
		}
	}
	return found
}

// standsStill reads /proc/PID/stat: field 3, after the name, is T.
func standsStill(stat []byte) bool {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	return len(fields) > 0 && string(fields[0]) == "T"
}

// starting is held, for reading, while a process is being started, and for
// writing while others are stopped. Until a child executes its program, the
// thread that started it stands still with the Go runtime not knowing
// (syscall.ForkExec has the child share its memory): if the child were stopped in
// there, the next garbage collection would wait for that thread, and all of this
// process with it, for ever.
var starting sync.RWMutex

// stop stops a process (-1: all but this one), which a Table is not just
// starting. One that is gone is as good.
func stop(pid int) {
	starting.Lock()
	defer starting.Unlock()
	_ = unix.Kill(pid, unix.SIGSTOP)
}

// standing is held while this package keeps processes stopped: who else looks
// meanwhile would take them for stopped by somebody, and leave them so.
var standing sync.Mutex

// Hold stops the processes of the tree, but spare, until release is
// called. It stops every process of the machine at once, which nothing that
// forks in a loop outruns, and then lets go on what is not of the tree. For that
// it has to be pid 1, whom the signal does not reach; anybody else holds
// nothing. What somebody else had stopped before stays stopped (but see oldest).
// It waits for another Hold or StopAll to be over.
func Hold(tree *Tree, spare int) (release func()) {
	goOn := StopAll()
	if os.Getpid() != 1 {
		return goOn
	}
	for _, pid := range Pids() {
		status, err := look(pid, "status")
		switch {
		case pid == 1 || before[pid]:
		case err == nil && tree.has(pid, status) && pid != spare:
			stop(pid) // one that was being born is not stopped yet
		default:
			_ = unix.Kill(pid, unix.SIGCONT)
		}
	}
	return goOn
}

// before are the processes that somebody else had stopped when this package
// stopped all. Guarded by standing.
var before map[int]bool

// StopAll stops every process of the machine but this one, which has to be pid
// 1; else it does nothing. The function returned lets all go on; what somebody
// else had stopped before is stopped again (but see oldest). It waits for another
// Hold or StopAll to be over, and for a process that a Table is just starting.
func StopAll() (goOn func()) {
	if os.Getpid() != 1 {
		return func() {}
	}
	standing.Lock()
	before = stopped(oldest, before)
	stop(-1)
	return func() {
		defer standing.Unlock()
		_ = unix.Kill(-1, unix.SIGCONT) // one by one would miss who is being born
		for pid := range before {
			stop(pid)
		}
	}
}
