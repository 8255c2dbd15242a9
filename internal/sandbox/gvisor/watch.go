package gvisor

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"paddock/internal/sandbox"
)

// oomRecent is how long after a memory alarm the machine's end is put down to
// it, when the kernel's own counter says nothing.
const oomRecent = 5 * time.Second

// watchMemory notes the alarms of a full memory group until the alarm is
// closed.
func (m *machine) watchMemory() {
	buffer := make([]byte, 4096)
	for {
		if _, err := m.alarm.Read(buffer); err != nil {
			return
		}
		kills, err := m.group.oomKills()
		if err != nil {
			return // the group is gone, and that sets off its alarm
		}
		m.mu.Lock()
		m.oomSeen, m.oomAt = kills, time.Now()
		m.mu.Unlock()
		m.sound()
		m.driver.options.Logger.Warn("sandbox is out of memory", "sandbox_id", m.handle.ID, "kills", kills)
	}
}

// watchPressure sounds the alarm whenever the kernel says that memory is
// getting scarce, until press is closed. Where the kernel will not say so, the
// alarm is closed.
func (m *machine) watchPressure() {
	if err := m.group.ringWhenPressed(m.press, m.full); err != nil {
		if !m.isClosed() {
			m.driver.options.Logger.Warn("sandbox memory has to be looked at", "sandbox_id", m.handle.ID, "error", err)
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		close(m.pressed)
		m.deaf = true
		return
	}
	buffer := make([]byte, 8)
	for {
		if _, err := m.press.Read(buffer); err != nil {
			return
		}
		m.sound()
	}
}

// sound rings MemoryAlarm; a ring that nobody has heard yet is enough.
func (m *machine) sound() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.deaf {
		return
	}
	select {
	case m.pressed <- struct{}{}:
	default:
	}
}

// watchEnd waits for the machine's kernel to end, or to be let go of.
func (m *machine) watchEnd() {
	if m.kernel.wait() != nil && !m.kernel.ended() {
		return // let go of
	}
	at := time.Now()
	ws, ours := m.kernel.reap()
	// The gofer of a dead kernel ends by itself; not waiting for it leaves
	// nothing to chance.
	if err := m.gofer.end(at.Add(killTime)); err != nil {
		m.driver.options.Logger.Warn("gofer stays", "sandbox_id", m.handle.ID, "error", err)
	}
	exit := sandbox.Exit{At: at, OOM: m.endedByOOM(at)}

	m.mu.Lock()
	expected := m.expected
	exit.Reason = endReason(exit.OOM, expected, ws, ours)
	m.exit = exit
	m.mu.Unlock()
	close(m.done)
	m.driver.options.Logger.Info("sandbox ended", "sandbox_id", m.handle.ID, "reason", exit.Reason, "expected", expected)
}

func (m *machine) endedByOOM(at time.Time) bool {
	kills, err := m.group.oomKills()
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil || kills == 0 {
		return false
	}
	return kills > m.oomSeen || at.Sub(m.oomAt) < oomRecent
}

// endReason is Exit.Reason. How the kernel process ended is only known to the
// server that started it.
func endReason(oom, expected bool, ws unix.WaitStatus, ours bool) string {
	switch {
	case expected:
		return "it was removed"
	case oom:
		return "it ran out of memory and the host's kernel killed it"
	case ours && ws.Signaled():
		return fmt.Sprintf("its kernel process was killed from outside (%s)", ws.Signal())
	case ours:
		return fmt.Sprintf("its first process ended with code %d", ws.ExitStatus())
	default:
		return "its kernel process ended"
	}
}

// expectEnd is told before the machine is removed.
func (m *machine) expectEnd() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.expected = true
}

func (m *machine) ended() bool {
	select {
	case <-m.done:
		return true
	default:
		return false
	}
}
