package engine

import (
	"context"
	"strings"
	"testing"
	"time"

	"paddock/internal/event"
	"paddock/internal/guestapi"
	"paddock/internal/sandbox"
	"paddock/internal/session"
)

const mega = 1 << 20

// looksWithin says how often a machine's use is read in a while, at most enough.
func looksWithin(m *stubMachine, while time.Duration, stats sandbox.Stats) int {
	before := m.use(stats)
	<-time.After(while)
	return m.use(stats) - before
}

// A machine far from full costs no look until its driver says so; the guest is
// asked once it is full, and what the host's kernel ended is in the history.
func TestMemoryIsLookedAtWhenAlarmed(t *testing.T) {
	h := newHouse(t)
	const full = 512 * mega
	h.driver.stats = sandbox.Stats{Full: full, Memory: 14 * mega}
	v := h.create(demoSpec)
	m := h.driver.only(t)
	needs := make(chan int64, 10)
	m.guest.mu.Lock()
	m.guest.onRelieve = func(need int64) int {
		m.use(sandbox.Stats{Full: full, Memory: 100 * mega, OOMKills: 2})
		needs <- need
		return 1
	}
	m.guest.mu.Unlock()
	eventually(t, "the first look", func() bool { return m.use(h.driver.stats) > 0 })
	if n := looksWithin(m, time.Second, sandbox.Stats{Full: full, Memory: full + 8*mega}); n > 0 {
		t.Errorf("%d looks without an alarm", n)
	}
	m.alarm <- struct{}{}
	if need := <-needs; need != 8*mega+full/4 {
		t.Errorf("asked to free %d MiB", need/mega)
	}
	eventually(t, "the history tells of the kernel", func() bool {
		for _, e := range h.history(v) {
			if e.Kind == event.RunLog && strings.Contains(string(e.Data), "ended 2 of its processes") {
				return true
			}
		}
		return false
	})
	eventually(t, "it is left alone again", func() bool {
		return looksWithin(m, time.Second, sandbox.Stats{Full: full, Memory: 100 * mega, OOMKills: 2}) == 0
	})
}

// A machine whose guest is silent since the host's kernel ended processes of it
// is lost; one whose guest answers is not.
func TestSilentSinceOutOfMemory(t *testing.T) {
	h, v, m := silentHouse(t)
	eventually(t, "the first look", func() bool { return m.use(h.driver.stats) > 0 })
	m.use(sandbox.Stats{Full: 512 * mega, Memory: 14 * mega, OOMKills: 1})
	m.alarm <- struct{}{}
	eventually(t, "the session has failed", func() bool {
		now, err := h.Session(context.Background(), h.team, v.Name)
		return err == nil && now.State == session.Failed && strings.Contains(now.Reason, "does not answer any more")
	})
}

// An agent that ends when the host's kernel ended something for memory fails its
// run with a message that says so; one that ends by itself does not.
func TestAgentEndedForMemory(t *testing.T) {
	for name, kills := range map[string]int{"killed": 1, "by itself": 0} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			h.driver.stats = sandbox.Stats{Full: 512 * mega, Memory: 14 * mega}
			v := h.create(demoSpec)
			m := h.driver.only(t)
			eventually(t, "the first look", func() bool { return m.use(h.driver.stats) > 0 })
			h.input(v, "eat")
			run := <-m.guest.prompts
			m.use(sandbox.Stats{Full: 512 * mega, Memory: 14 * mega, OOMKills: kills})
			m.guest.endTurn(t, run, guestapi.End{Outcome: guestapi.EndFailed, Code: event.Internal, Message: "the agent was killed by signal 9"})
			var said string
			eventually(t, "the run failed", func() bool {
				for _, e := range h.history(v) {
					if e.Kind == event.RunFailed {
						said = string(e.Data)
					}
				}
				return said != ""
			})
			if strings.Contains(said, "out of memory") != (kills > 0) {
				t.Errorf("the history says %s", said)
			}
		})
	}
}

// Where there is no alarm, or none any more, and where a machine is nearly full,
// it is looked at all the time.
func TestMemoryIsLookedAtWithoutAlarm(t *testing.T) {
	for name, c := range map[string]struct {
		stats sandbox.Stats
		mute  bool
		close bool
	}{
		"no alarm":      {sandbox.Stats{Full: 64 * mega, Memory: 14 * mega}, true, false},
		"none any more": {sandbox.Stats{Full: 64 * mega, Memory: 14 * mega}, false, true},
		"nearly full":   {sandbox.Stats{Full: 64 * mega, Memory: 60 * mega}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			h.driver.stats, h.driver.mute = c.stats, c.mute
			h.create(demoSpec)
			m := h.driver.only(t)
			if c.close {
				close(m.alarm)
			}
			eventually(t, "many looks", func() bool { return m.use(c.stats) > 3 })
		})
	}
}
