// Package claude drives Claude Code by its own control protocol: JSON, one
// message a line, on the standard input and output of one process that stays up
// over the turns of a conversation. The protocol is that of the vendor's SDK and
// no published interface, so the agent's version is pinned by whoever installs
// it, and what is not known here is kept as a log entry, never an error.
//
// Every tool call comes before the session's policy: the agent is given a hook
// that it calls before any tool runs, whatever its own rules would say of it. No
// settings of the workspace are read, for they can name programs that the agent
// starts by itself; the workspace's CLAUDE.md is.
//
// One goroutine reads the agent and translates what it reads in order. When the
// journal is full that goroutine waits, and so does the agent. Nothing else ever
// waits for it.
package claude
