package engine

import (
	"context"
	"fmt"
	"time"

	"paddock/internal/event"
	"paddock/internal/guestapi"
	"paddock/internal/id"
)

// A machine's memory is watched from outside: a look costs the host some
// microseconds, while anything that wakes up inside costs a hundred times that.
const (
	// memoryRate is how fast a machine is thought to fill its memory, in bytes
	// a second; the pause between two looks follows from it.
	memoryRate = 1 << 30
	minLook    = 20 * time.Millisecond
	maxLook    = time.Second
	// relieveWait bounds one call to end processes; crowded machines are slow.
	relieveWait = 10 * time.Second
	// memorySpare is the part of a machine's memory, one in so many, that is to
	// be free again after its guest has ended processes.
	memorySpare = 4
)

// watchMemory has the guest end processes when the machine is out of memory,
// before the host's kernel ends what happens to be large: that may be the
// guest, and the machine with it. It ends with the machine, and is not there
// where nothing is limited.
func (m *machine) watchMemory() {
	ctx, cancel := context.WithCancel(m.engine.ctx)
	defer cancel()
	kills, look := 0, time.NewTimer(0)
	defer look.Stop()
	for first := true; ; first = false {
		select {
		case <-m.gone:
			return
		case <-m.box.Done():
			return
		case <-ctx.Done():
			return
		case <-look.C:
		}
		if m.box.Paused() { // nothing grows
			look.Reset(maxLook)
			continue
		}
		use, err := m.box.Stats(ctx)
		if err != nil || use.Full == 0 {
			return
		}
		if !first && use.OOMKills > kills {
			m.tellKilled(use.OOMKills-kills, use.Full)
		}
		kills = use.OOMKills
		pause := time.Duration(float64(use.Full-use.Memory) / memoryRate * float64(time.Second))
		if over := use.Memory - use.Full; over >= 0 && !m.relieve(ctx, over+use.Full/memorySpare) {
			pause = maxLook // nothing can be done, or not now
		}
		look.Reset(min(max(pause, minLook), maxLook))
	}
}

// relieve has the guest end processes of need bytes; false when it ended none.
func (m *machine) relieve(ctx context.Context, need int64) bool {
	ctx, cancel := context.WithTimeout(ctx, relieveWait)
	defer cancel()
	ended, err := ask(ctx, m, func(g guestapi.Guest) (int, error) { return g.Relieve(ctx, need) })
	if err != nil {
		m.engine.log.Warn("sandbox is out of memory, and its guest does not help", "session_id", m.session, "error", err)
		return false
	}
	m.engine.log.Info("sandbox was out of memory", "session_id", m.session, "ended", ended)
	return ended > 0
}

// tellKilled puts into the history that the host's kernel ended processes of
// the machine; which ones, nobody tells.
func (m *machine) tellKilled(n int, full int64) {
	ctx, cancel := context.WithTimeout(m.engine.ctx, relieveWait)
	defer cancel()
	err := m.engine.change(ctx, m.session, func(c *change) error {
		c.emit(id.Run{}, event.RunLog, event.Log{
			Level:   "error",
			Message: fmt.Sprintf("out of memory (the machine has %d MiB): the host's kernel ended %d of its processes", full>>20, n),
			Fields:  map[string]any{"reason": "out_of_memory", "processes": n, "memory_bytes": full},
		})
		return nil
	})
	if err != nil {
		m.engine.log.Error("tell of ended processes", "session_id", m.session, "error", err)
	}
}
