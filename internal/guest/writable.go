package guest

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"paddock/internal/event"
	"paddock/internal/guest/proc"
	"paddock/internal/guestapi"
)

// unwritable remembers what was said of folders that the agent was to be able to
// write in and is not, so that the history says it once.
type unwritable struct{ said sync.Map }

func (d *Daemon) confined() *guestapi.Confined {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.config == nil {
		return nil
	}
	return d.config.Agent.Confined
}

// writable finds where the folders really are that the agent may write in. It is
// asked at each start of the agent, which may have moved things since. A folder
// that is left out is left read-only.
func (d *Daemon) writable(c guestapi.Confined) []string {
	paths := []string{}
	for _, name := range c.Folders {
		if _, err := os.Lstat(name); err != nil {
			continue // not every root has it
		}
		paths = d.addWritable(paths, name)
	}
	for _, name := range c.Allowed {
		paths = d.addWritable(paths, name)
	}
	return paths
}

func (d *Daemon) addWritable(paths []string, name string) []string {
	where, err := proc.Where(name, d.agentUser())
	if err == nil && where == "/" {
		err = errors.New("it leads to /")
	}
	if err == nil {
		return append(paths, where)
	}
	why := err.Error()
	if _, again := d.unwritable.said.Swap(name+": "+why, true); !again {
		d.noTurnLog(event.Log{
			Level:   "warn",
			Message: fmt.Sprintf("the agent cannot write in %s, as permissions.filesystem wants: %s", name, why),
			Fields:  map[string]any{"reason": "not_writable", "path": name},
		}, Source{})
	}
	return paths
}
