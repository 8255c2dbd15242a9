// Package engine is every verb of the product. It decides; the store remembers,
// the sandbox driver and the guest act.
//
// Each session has one actor: verbs that change a session are functions run by
// it one after the other, so a session has a single writer. Reads go straight
// to the store. A change of state and its events are one transaction; what
// others may see is published after the commit.
//
// A restart is a start: Start reads what the store knows, recovers the machines
// that still run, and each session goes on in the path it would have taken.
package engine
