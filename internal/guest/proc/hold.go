package proc

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"time"

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

// beforeLook is how long is looked for processes that somebody has stopped,
// before this package stops all. In a machine so crowded that it needs that, not
// all are found; the oldest come first.
const beforeLook = 20 * time.Millisecond

// stopped lists processes that stand still for a signal, as many as are found
// within the time.
func stopped(within time.Duration) map[int]bool {
	found := map[int]bool{}
	end := time.Now().Add(within)
	pids := Pids()
	slices.Sort(pids)
	for _, pid := range pids {
		if time.Now().After(end) {
			break
		}
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
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

// Held are the pids of processes that Hold has stopped.
type Held []int

// Hold stops the processes of the group's tree, but spare, and returns them. It
// stops every process of the machine at once, which nothing that forks in a loop
// outruns, and then lets go on what is not of the tree. For that it has to be
// pid 1, whom the signal does not reach; anybody else holds nothing. What
// somebody else had stopped before stays stopped (but see beforeLook).
//
// A process that a Table is just starting may be among the stopped, so nothing
// here may wait for the Table.
func Hold(group uint32, spare int) (held Held) {
	if os.Getpid() != 1 {
		return nil
	}
	before := stopped(beforeLook)
	if unix.Kill(-1, unix.SIGSTOP) != nil {
		return nil
	}
	want := strconv.FormatUint(uint64(group), 10)
	for _, pid := range Pids() {
		status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
		switch {
		case pid == 1 || err != nil || before[pid]:
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
// 1; else it does nothing. The function returned lets all go on; what somebody
// else had stopped before is stopped again (but see beforeLook). A process that
// a Table is just starting may be among them, so nothing may wait for the Table
// in between.
func StopAll() (goOn func()) {
	if os.Getpid() != 1 {
		return func() {}
	}
	before := stopped(beforeLook)
	_ = unix.Kill(-1, unix.SIGSTOP) // fails only when there is nobody
	return func() {
		_ = unix.Kill(-1, unix.SIGCONT) // one by one would miss who is being born
		for pid := range before {
			_ = unix.Kill(pid, unix.SIGSTOP)
		}
	}
}
