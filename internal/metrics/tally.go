package metrics

import (
	"maps"

	"paddock/internal/event"
	"paddock/internal/session"
)

// Tally is what one transaction changed in what is counted. Those of different
// transactions may be counted in any order.
type Tally struct {
	sessions map[session.State]int
	runs     map[session.RunState]int
	events   map[event.Kind]int
}

// Session notes that a session came from one state to another; "" is none.
func (t *Tally) Session(from, to session.State) {
	if from == to {
		return
	}
	if t.sessions == nil {
		t.sessions = map[session.State]int{}
	}
	t.sessions[from]--
	t.sessions[to]++
}

// Run notes that a run came from one state to another; "" is none.
func (t *Tally) Run(from, to session.RunState) {
	if from == to {
		return
	}
	if t.runs == nil {
		t.runs = map[session.RunState]int{}
	}
	t.runs[from]--
	t.runs[to]++
}

// Event notes that an event was stored.
func (t *Tally) Event(kind event.Kind) {
	if t.events == nil {
		t.events = map[event.Kind]int{}
	}
	t.events[kind]++
}

// Count adds what a transaction that is durable changed.
func (m *Metrics) Count(t Tally) {
	if m == nil {
		return
	}
	for state, n := range t.sessions {
		if state != "" && state != session.Destroyed {
			m.sessions.WithLabelValues(string(state)).Add(float64(n))
		}
	}
	for state, n := range t.runs {
		switch {
		case state == "":
		case !state.Ended():
			m.runs.WithLabelValues(string(state)).Add(float64(n))
		case n > 0:
			m.runsEnded.WithLabelValues(string(state)).Add(float64(n))
		}
	}
	for kind, n := range t.events {
		m.events.WithLabelValues(string(kind)).Add(float64(n))
	}
}

// Start sets what was there before the server: how many sessions and open runs
// are in each state.
func (m *Metrics) Start(sessions map[session.State]int, runs map[session.RunState]int) {
	m.Count(Tally{sessions: maps.Clone(sessions), runs: openOnly(runs)})
}

func openOnly(runs map[session.RunState]int) map[session.RunState]int {
	open := maps.Clone(runs)
	maps.DeleteFunc(open, func(s session.RunState, _ int) bool { return s.Ended() })
	return open
}
