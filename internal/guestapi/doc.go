// Package guestapi is the protocol between the host and the guest daemon inside
// a sandbox: its messages, limits and version handshake, with one stub for each
// side.
//
// The guest dials the unix socket of its sandbox and writes one line of JSON
// (Hello); the host answers with one (Welcome) and either closes or goes on.
// From then on the connection carries yamux streams, HTTP/1.1 on each, in both
// directions: the host calls Guest, the guest calls Host. Either side may lose
// the connection at any time; the guest dials again and every call is
// idempotent, so nothing is lost and nothing happens twice:
//
//   - Reports are numbered (epoch, n) by the guest and kept until acknowledged.
//     The host gives the epoch at each start and restore, and stores the cursor
//     in the transaction that stores the events.
//   - Prompts are named by run id, answers by the ask's key, execs by exec id;
//     exec output is read by offset and kept until the next offset is asked for.
//
// What comes from a guest is untrusted input: every size is limited here and
// the host checks every word.
package guestapi
