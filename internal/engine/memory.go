package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"paddock/internal/event"
	"paddock/internal/guestapi"
	"paddock/internal/id"
)

// A machine's memory is watched from outside: a look costs the host some
// microseconds, while anything that wakes up inside costs a hundred times that.
// Where the driver sounds an alarm, a machine that is far from full is not looked
// at until it does.
const (
	// memoryRate is how fast a machine is thought to fill its memory, in bytes
	// a second; the pause between two looks follows from it.
	memoryRate = 1 << 30
	minLook    = 20 * time.Millisecond
	maxLook    = 5 * time.Second
	// relieveWait bounds one call to end processes; crowded machines are slow.
	relieveWait = 10 * time.Second
	// relieveAgain is how long after one that was in vain the next is made.
	relieveAgain = time.Second
	// memorySpare is the part of a machine's memory, one in so many, that is to
	// be free again after its guest has ended processes. With more than that
	// free, it is far from full.
	memorySpare = 4
	// killedLately is for how long after the host's kernel ended processes of a
	// machine the end of its agent is put down to that, too.
	killedLately = 10 * time.Second
)

// memoryWatch is what is known of a machine's memory.
type memoryWatch struct {
	*machine
	alarm <-chan struct{} // see sandbox.Machine; nil: there is none
	calm  bool            // it was far from full
}

// watchMemory has the guest end processes when the machine is out of memory,
// before the host's kernel ends what happens to be large: that may be the
// guest, and the machine with it. It ends with the machine, and is not there
// where nothing is limited.
func (m *machine) watchMemory() {
	ctx, cancel := context.WithCancel(m.engine.ctx)
	defer cancel()
	w := &memoryWatch{machine: m, alarm: m.box.MemoryAlarm()}
	for rang, going := false, true; going; {
		pause, there := w.look(ctx)
		if !there {
			return
		}
		// What follows an alarm may come a moment later, so there is one more look.
		if w.calm && w.alarm != nil && !rang {
			rang, going = true, w.await(ctx, nil)
		} else {
			rang, going = false, w.await(ctx, time.After(pause))
		}
	}
}

// await waits for the time, or where there is none for the alarm; false when the
// machine is no more.
func (w *memoryWatch) await(ctx context.Context, at <-chan time.Time) bool {
	alarm := w.alarm
	if at != nil {
		alarm = nil // looks keep their distance
	}
	select {
	case <-w.gone:
		return false
	case <-w.box.Done():
		return false
	case <-ctx.Done():
		return false
	case _, open := <-alarm:
		if !open {
			w.alarm = nil
		}
	case <-at:
	}
	return true
}

// look reads the machine's use and does what follows from it. It gives how long
// it takes to be full at worst; false when there is nothing to look at.
func (w *memoryWatch) look(ctx context.Context) (pause time.Duration, ok bool) {
	use, err := w.box.Stats(ctx)
	if err != nil || use.Full == 0 {
		return 0, false
	}
	if n := w.countKills(use.OOMKills); n > 0 {
		w.tellKilled(n, use.Full)
		w.engine.spawn(w.examine)
	}
	w.calm = use.Memory < use.Full-use.Full/memorySpare
	pause = time.Duration(float64(use.Full-use.Memory) / memoryRate * float64(time.Second))
	pause = min(max(pause, minLook), maxLook)
	if over := use.Memory - use.Full; over >= 0 && (w.box.Paused() || !w.relieve(ctx, over+use.Full/memorySpare)) {
		pause = relieveAgain // nothing can be done, or not now
	}
	return pause, true
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

// examine finds out whether a machine lives on of which the host's kernel ended
// processes: what it ended may have been the guest's own, and then nobody inside
// answers any more, though the machine stands. Such a machine is lost.
func (m *machine) examine(ctx context.Context) {
	if err := m.greetGuest(ctx, 0); !errors.Is(err, errSilent) {
		return
	}
	m.engine.machineLost(m, loss{"oom", "its sandbox ran out of memory and does not answer any more"}, "silent since the host's kernel ended processes of it")
}

// hostKills is what is known of processes that the host's kernel ended for memory.
type hostKills struct {
	seen  int       // since the machine's start; -1 before the first look
	since time.Time // when there were last more than before
}

// countKills takes the count as it is now and gives how many are new.
func (m *machine) countKills(now int) (fresh int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kills.seen >= 0 && now > m.kills.seen {
		fresh, m.kills.since = now-m.kills.seen, m.engine.now()
	}
	m.kills.seen = now
	return fresh
}

// outOfMemory says whether the host's kernel has just ended processes of the
// machine, seen or not.
func (m *machine) outOfMemory() bool {
	use, err := m.box.Stats(m.engine.ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil || m.kills.seen < 0 {
		return false
	}
	return use.OOMKills > m.kills.seen || !m.kills.since.IsZero() && m.engine.now().Sub(m.kills.since) < killedLately
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
