// Package event defines the entries of a session's history.
//
// The contract every reader may rely on: an event is durable before anybody
// sees it; per session, Seq starts at 1, has no gap and never repeats; ids sort
// in the same strict order as Seq, timestamps never run backwards; an event,
// once written, never changes. All sessions of a team together have one order,
// too (Place): the order in which events became durable. Whoever resumes after an event gets exactly the
// events that follow it.
package event
