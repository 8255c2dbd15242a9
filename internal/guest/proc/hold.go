package proc

import (
	"os"
	"strconv"

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

// Held are the pids of processes that Hold has stopped.
type Held []int

// Hold stops the processes of the group's tree, but spare, and returns them. It
// stops every process of the machine at once, which nothing that forks in a loop
// outruns, and then lets go on what is not of the tree. For that it has to be
// pid 1, whom the signal does not reach; anybody else holds nothing.
//
// What somebody else had stopped before goes on in the end, too: to look first
// who that is takes longer than a machine that needs this can wait.
//
// A process that a Table is just starting may be among the stopped, so nothing
// here may wait for the Table.
func Hold(group uint32, spare int) (held Held) {
	if os.Getpid() != 1 || unix.Kill(-1, unix.SIGSTOP) != nil {
		return nil
	}
	want := strconv.FormatUint(uint64(group), 10)
	for _, pid := range Pids() {
		status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
		switch {
		case pid == 1 || err != nil:
		case inGroup(status, want) && pid != spare:
			held = append(held, pid)
			_ = unix.Kill(pid, unix.SIGSTOP) // one that was being born is not stopped yet
		default:
			_ = unix.Kill(pid, unix.SIGCONT)
		}
	}
	return held
}

// Release lets them go on.
func (h Held) Release() {
	for _, pid := range h {
		_ = unix.Kill(pid, unix.SIGCONT) // gone already is as good
	}
}

// StopAll stops every process of the machine but this one, which has to be pid
// 1; else it does nothing. A process that a Table is just starting may be among
// them, so nothing may wait for the Table until ContinueAll.
func StopAll() {
	if os.Getpid() == 1 {
		_ = unix.Kill(-1, unix.SIGSTOP) // fails only when there is nobody
	}
}

// ContinueAll lets every process go on, those too that somebody else has
// stopped: who that was cannot be known any more.
func ContinueAll() {
	if os.Getpid() == 1 {
		_ = unix.Kill(-1, unix.SIGCONT)
	}
}
