package store

import "paddock/internal/session"

// Census says how many there are of what lives, by state: sessions that are not
// destroyed, and runs that have not ended.
type Census struct {
	Sessions map[session.State]int
	Runs     map[session.RunState]int
}
