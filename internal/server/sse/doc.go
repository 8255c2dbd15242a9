// Package sse writes a session's history to HTTP: as a stream of server-sent
// events that a reader can leave and resume at any event, or as a long poll.
//
// A stream is: the comment "connected"; a stream.state frame catching_up; the
// stored events from where the reader wants to start; stream.state live; each
// event as it becomes durable. A stream that is over by itself (the replay, the
// run, the session) ends with the comment "end", a page of history with
// "has_more=true|false"; one that merely breaks off (the server stops) does
// not, and the reader comes back with the id of the last event it has.
//
// Whoever reads slowly holds up nobody else: a stream reads its pages, which are
// small, from the log when it has written the page before, and is cut when its
// peer takes nothing for the write timeout. What all streams together hold for
// such peers is bounded: past that, who has taken nothing for the longest is cut.
package sse
