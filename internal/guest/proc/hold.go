package proc

import (
	"bytes"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
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
// numbers, but for those after an overflow: a process that is just being started
// may be among the first, and who is known may be no more.)
func stopped(n int, known map[int]bool) map[int]bool {
	found := map[int]bool{}
	pids, own := Pids(), ownName()
	slices.Sort(pids)
	for _, pid := range slices.Concat(pids[:min(n, len(pids))], slices.Collect(maps.Keys(known))) {
		stat, err := look(pid, "stat")
		if err == nil && standsStill(stat) && !unborn(stat, own, os.Getpid()) {
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

// ownName is this process's name as the kernel has it.
func ownName() string {
	name, _ := os.ReadFile("/proc/self/comm") // without it nothing is held for unborn
	return strings.TrimSuffix(string(name), "\n")
}

// unborn reads /proc/PID/stat: a child of the parent that has not executed its
// program yet and so has the parent's name. Nobody but this package can have
// stopped it, and the parent waits for it.
func unborn(stat []byte, name string, parent int) bool {
	first, last := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if name == "" || first < 0 || last < first {
		return false
	}
	fields := bytes.Fields(stat[last+1:])
	return len(fields) > 1 && string(stat[first+1:last]) == name && string(fields[1]) == strconv.Itoa(parent)
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
//
// A process that a Table is just starting may be among the stopped, so nothing
// here may wait for the Table.
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
			_ = unix.Kill(pid, unix.SIGSTOP) // one that was being born is not stopped yet
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
// else had stopped before is stopped again (but see oldest). A process that
// a Table is just starting may be among them, so nothing may wait for the Table
// in between. It waits for another Hold or StopAll to be over.
func StopAll() (goOn func()) {
	if os.Getpid() != 1 {
		return func() {}
	}
	standing.Lock()
	before = stopped(oldest, before)
	_ = unix.Kill(-1, unix.SIGSTOP) // fails only when there is nobody
	return func() {
		defer standing.Unlock()
		_ = unix.Kill(-1, unix.SIGCONT) // one by one would miss who is being born
		for pid := range before {
			_ = unix.Kill(pid, unix.SIGSTOP)
		}
	}
}
