// Package event defines the entries of a session's history.
//
// The contract every reader may rely on: an event is durable before anybody
// sees it; per session, Seq starts at 1, has no gap and never repeats; ids sort
// in the same strict order as Seq, timestamps never run backwards; an event,
// once written, never changes, but that the body of an old one may be dropped
// when the history grows too large, and then the event says so. All sessions of
// a team together have one order, too (Place): the order in which events became
// durable. Whoever resumes after an event gets exactly the events that follow
// it.
package event
