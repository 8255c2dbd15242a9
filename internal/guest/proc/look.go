package proc

import (
	"errors"
	"os"
	"strconv"
	"sync"
	"time"
)

// lookMost is how long a look at a process may take. In a crowded machine it is
// some hundred milliseconds.
const lookMost = 5 * time.Second

// errStuck says that the kernel does not tell about a process.
var errStuck = errors.New("the kernel does not tell about the process")

// stuck are the processes at whom a look has not ended, by pid: the host's kernel
// may have ended, for memory, what this machine's kernel runs a process in, and
// then that waits for ever with what is known of the process locked. Nobody else
// may wait with it.
var stuck sync.Map

// look reads a file of /proc/PID. One that does not come is errStuck, from then on
// at once.
func look(pid int, name string) ([]byte, error) {
	return lookAt("/proc/"+strconv.Itoa(pid)+"/"+name, pid, lookMost, os.ReadFile)
}

// lookLink reads a link of /proc/PID, likewise.
func lookLink(pid int, name string) (string, error) {
	return lookAt("/proc/"+strconv.Itoa(pid)+"/"+name, pid, lookMost, os.Readlink)
}

func lookAt[T any](path string, pid int, most time.Duration, read func(path string) (T, error)) (nothing T, _ error) {
	if _, is := stuck.Load(pid); is {
		return nothing, errStuck
	}
	type answer struct {
		text T
		err  error
	}
	told := make(chan answer, 1)
	go func() {
		text, err := read(path)
		told <- answer{text, err}
		stuck.Delete(pid)
	}()
	late := time.NewTimer(most)
	defer late.Stop()
	select {
	case a := <-told:
		return a.text, a.err
	case <-late.C:
	}
	stuck.Store(pid, true)
	select {
	case <-told: // in the meantime
		stuck.Delete(pid)
	default:
	}
	return nothing, errStuck
}
