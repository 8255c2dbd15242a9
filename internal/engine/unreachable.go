package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"paddock/internal/guestapi"
	"paddock/internal/id"
)

// A machine may stand on the host and be dead inside: its kernel hangs, or the
// process in which its guest runs is broken, and nobody answers any more. Such a
// machine is lost. It is found out by asking, and only when there is a reason to:
// a call was not answered, a run reports nothing, or the guest holds no
// connection.

const (
	// unreachableLimit is how long a guest may answer nothing before its machine is
	// given up; one that lives dials again within seconds, and answers within
	// seconds on a host that has work for a minute.
	unreachableLimit = 2 * time.Minute
	// unreachableTries is how many questions in a row it leaves unanswered in that
	// time. Counting them, and not the time, makes nothing of an hour in which the
	// host slept, or the server was stopped.
	unreachableTries = int(unreachableLimit / (execPoll + answerPatience))
)

// unreachable says whether the guest has been away for too long.
func (m *machine) unreachable(now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.link != nil || m.rest != awake || now.Sub(m.lost) < unreachableLimit {
		return false
	}
	m.lost = now // look again only after another while
	return true
}

// doubt finds out in the background whether the guest lives, after it left
// something unanswered.
func (m *machine) doubt() { m.inquire(unreachableTries) }

// inquire asks the guest something in the background, up to so many times, until
// it answers. When it never does the machine is lost. One inquiry at a time is
// enough.
func (m *machine) inquire(tries int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.asking {
		return
	}
	m.asking = m.engine.spawn(func(ctx context.Context) {
		dead := m.leavesUnanswered(ctx, tries)
		m.mu.Lock()
		m.asking = false
		m.mu.Unlock()
		if dead {
			m.engine.loseUnreachable(m)
		}
	})
}

// leavesUnanswered says whether the guest answers none of so many questions. A
// machine that stands still, because it is paused or its files are being saved,
// owes no answer; whoever needs it later finds out anew.
func (m *machine) leavesUnanswered(ctx context.Context, tries int) bool {
	for range tries {
		if err := m.greetGuest(ctx, execPoll); !errors.Is(err, errSilent) && !errors.Is(err, errAway) || m.standsStill() {
			return false
		}
	}
	return true
}

// greetGuest has the guest do the least that it is there for: to run a program,
// whose end it may await for a while. That there is no such program is an answer,
// too.
func (m *machine) greetGuest(ctx context.Context, wait time.Duration) error {
	probe, request := id.New[id.Exec](), guestapi.ExecRequest{Argv: []string{"true"}, Timeout: answerPatience}
	_, err := askBriefly(ctx, m, wait, func(ctx context.Context, g guestapi.Guest) (guestapi.ExecProgress, error) {
		defer g.EndExec(ctx, probe)
		return g.StartExec(ctx, probe, request, wait)
	})
	return err
}

// standsStill says whether the machine is not to be expected to run just now.
func (m *machine) standsStill() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rest != awake || m.saving.busy
}

// loseUnreachable goes on with the session of a machine that nobody reaches.
func (e *Engine) loseUnreachable(m *machine) {
	a := e.actor(m.session)
	a.post(func(ctx context.Context) {
		if a.attached() != m || m.standsStill() {
			return // removed, or paused meanwhile
		}
		e.log.Error("sandbox lost", "session_id", m.session, "reason", "unreachable")
		e.lose(ctx, a, loss{"unreachable", fmt.Sprintf("its sandbox has not answered for %s", unreachableLimit)})
	})
}
