// Package acp drives agents that speak the Agent Client Protocol, version 1, on
// their standard input and output: JSON-RPC 2.0, one message a line.
//
// The client is tolerant where agents differ: unknown updates and notifications
// become log entries with the frame they came in, unknown requests are refused,
// missing fields are done without. It declares neither file nor terminal
// capabilities, so agents run their tools themselves; it declares forms, so
// agents can ask a person.
//
// One goroutine reads the agent and translates what it reads in order; the
// answer to a prompt is therefore seen after every update that came before it.
// When the journal is full that goroutine waits, and so does the agent. Nothing
// else ever waits for it: messages to the agent go through a queue of their own.
package acp
