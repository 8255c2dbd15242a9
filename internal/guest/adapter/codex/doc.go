// Package codex drives OpenAI Codex by its own protocol, `codex app-server`:
// JSON-RPC on standard input and output, one process a session, one thread a
// conversation.
//
// Codex asks a person only when its model wants it to, so its questions carry no
// policy. Every call of a tool goes through a hook instead: a mode of the guest's
// program (Hook) that root's configuration names, that nobody in the sandbox can
// change, and without which nothing runs. The hook asks this adapter, and the
// adapter the host:
//
//	allowed  the call goes on
//	denied   the model is told why
//	asked    a hook must not wait for a person: the call would be given up after
//	         half a minute, and be made later all the same. So a command becomes a
//	         call of the gate (Gate, another mode), which Codex has to ask about
//	         before it runs, for as long as it takes; the gate runs the command
//	         once the host has allowed it. Calls of MCP servers have a question of
//	         their own in Codex. For what has neither, edits above all, the model
//	         is told to do it by a command.
//
// The gate decides nothing by itself: whoever calls it, it runs only what was
// allowed, once.
package codex
