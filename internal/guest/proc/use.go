package proc

import (
	"bytes"
	"os"
	"strconv"
)

// Use is a process and what it has in memory.
type Use struct {
	Task
	Name    string // as the kernel has it: at most 15 bytes, of any kind
	Session int    // its session, see setsid(2)
	Member  bool   // it belongs to the tree
	Bytes   int64  // pages of it that are in memory; those it shares count too
}

// Uses lists the running processes, but this one.
func Uses(tree *Tree) []Use {
	page := int64(os.Getpagesize())
	var uses []Use
	for _, pid := range Pids() {
		if pid == os.Getpid() {
			continue
		}
		stat, err := look(pid, "stat")
		if err != nil {
			continue
		}
		u, ok := parseUse(stat, page)
		if !ok {
			continue
		}
		status, err := look(pid, "status")
		if err != nil {
			continue
		}
		u.Pid, u.Member = pid, tree.has(pid, status)
		uses = append(uses, u)
	}
	return uses
}

// parseUse reads /proc/PID/stat: the name, and fields 6 (session), 22 (start)
// and 24 (pages in memory). A zombie is none.
func parseUse(stat []byte, page int64) (u Use, ok bool) {
	open, closing := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if open < 0 || closing < open {
		return u, false
	}
	fields := bytes.Fields(stat[closing+1:]) // fields[0] is field 3
	if len(fields) < 22 || fields[0][0] == 'Z' || fields[0][0] == 'X' {
		return u, false
	}
	session, err1 := strconv.Atoi(string(fields[3]))
	start, err2 := strconv.ParseUint(string(fields[19]), 10, 64)
	pages, err3 := strconv.ParseInt(string(fields[21]), 10, 64)
	u = Use{Task: Task{Start: start}, Name: string(stat[open+1 : closing]), Session: session, Bytes: pages * page}
	return u, err1 == nil && err2 == nil && err3 == nil
}

// Alive says whether the task runs, or is a zombie that nobody has reaped yet.
func (t Task) Alive() bool {
	stat, err := look(t.Pid, "stat")
	if err != nil {
		return false
	}
	_, start, ok := origin(stat)
	return ok && start == t.Start
}
