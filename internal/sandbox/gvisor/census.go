package gvisor

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// census finds the processes of machines on this host, without any record of
// them, by their command lines. Looking at every process of a crowded host takes
// long, and machines come and go in crowds: one look serves all who asked before
// it began.
type census struct {
	mu   sync.Mutex // guards what follows
	next *look      // that has not begun; nil when nobody waits
	busy bool       // one is under way
}

// look is one look over all processes.
type look struct {
	done chan struct{}
	pids map[string][]int // by the machine's state root
	err  error
}

// pids gives the processes of the machine with that state root, as they are at
// some moment after the call.
func (c *census) pids(root string) ([]int, error) {
	c.mu.Lock()
	if c.next == nil {
		c.next = &look{done: make(chan struct{})}
	}
	l := c.next
	if !c.busy {
		c.busy = true
		go c.take()
	}
	c.mu.Unlock()
	<-l.done
	return l.pids[root], l.err
}

// take looks for as long as somebody waits.
func (c *census) take() {
	for {
		c.mu.Lock()
		l := c.next
		c.next = nil
		if l == nil {
			c.busy = false
			c.mu.Unlock()
			return
		}
		c.mu.Unlock()
		l.pids, l.err = machinePids()
		close(l.done)
	}
}

// machinePids gives the processes of all machines by the state roots of those.
func machinePids() (map[string][]int, error) {
	names, err := readNames("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	found := map[string][]int{}
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if root := rootOf(pid); root != "" {
				found[root] = append(found[root], pid)
			}
		}
	}
	return found, nil
}

// rootOf gives the state root that the command line of process pid names, as
// those of a machine's kernel, its gofer and their forks do; "" when it names none.
func rootOf(pid int) string {
	line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	if err != nil {
		return "" // it has ended
	}
	for argument := range strings.SplitSeq(string(line), "\x00") {
		if root, ok := strings.CutPrefix(argument, "--root="); ok {
			return root
		}
	}
	return ""
}
