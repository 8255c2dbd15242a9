package gvisor

import (
	"encoding/json"
	"fmt"

	"paddock/internal/sandbox"
)

// plan is what a handle keeps of the machine's configuration: what has to be
// the same whenever the machine's kernel is started, at a restore too.
type plan struct {
	// See sandbox.Size; 0 also in handles that are older than the limit.
	DiskMB   int `json:"disk_mb,omitempty"`
	MemoryMB int `json:"memory_mb,omitempty"`
}

func readPlan(handle sandbox.Handle) (p plan, err error) {
	if len(handle.State) == 0 {
		return p, nil
	}
	if err := json.Unmarshal(handle.State, &p); err != nil {
		return p, fmt.Errorf("read plan of sandbox %s: %w", handle.ID, err)
	}
	return p, nil
}

// overlay is gVisor's flag for the root's writable layer: one nameless file in
// the machine's folder. With a size, its kernel answers ENOSPC to what would go
// beyond, and shows that size as the disk's.
func (p plan) overlay(f folder) string {
	flag := "root:dir=" + f.upper()
	if p.DiskMB > 0 {
		flag += fmt.Sprintf(",size=%dm", p.DiskMB)
	}
	return flag
}
