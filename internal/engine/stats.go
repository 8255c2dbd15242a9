package engine

import (
	"context"
	"slices"
	"time"

	"paddock/internal/id"
	"paddock/internal/session"
)

// SandboxStats is what a session's sandbox uses of the host, and what the session
// is at.
type SandboxStats struct {
	View
	ReadAt  time.Time     // zero: nothing could be read
	CPU     time.Duration // used since the sandbox's start
	Memory  int64         // bytes
	Limit   int64         // of memory; 0: none
	Disk    int64         // bytes on disk of what was written in it
	Calling *ToolCall     // nil: no tool call is open
}

// SandboxStats lists a team's sessions that hold a slot, newest first, with what
// they use. To look wakes no session and is nobody's activity.
func (e *Engine) SandboxStats(ctx context.Context, team id.Team, size int, token string) ([]SandboxStats, string, error) {
	states := slices.DeleteFunc(slices.Clone(session.States), func(s session.State) bool { return !s.HoldsSlot() })
	views, next, err := e.Sessions(ctx, team, ListRequest{States: states, PageSize: size, PageToken: token})
	if err != nil {
		return nil, "", err
	}
	list := make([]SandboxStats, len(views))
	for i, v := range views {
		list[i] = SandboxStats{View: v}
		m := e.machineOf(v.ID)
		if m == nil {
			continue
		}
		u := m.readUse(ctx)
		list[i].ReadAt, list[i].CPU, list[i].Memory, list[i].Limit, list[i].Disk = u.At, u.CPU, u.Memory, u.Full, u.Disk
		if v.Run != nil {
			list[i].Calling = m.calls.newest()
		}
	}
	return list, next, nil
}
