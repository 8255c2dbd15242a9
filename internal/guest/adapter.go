package guest

import (
	"context"
	"os"

	"paddock/internal/event"
	"paddock/internal/guest/proc"
	"paddock/internal/guestapi"
)

// Adapter makes one kind of agent drivable: how to start it, speak to it and
// translate it. The daemon plays one turn at a time; the other methods may be
// called at any time, from any goroutine.
type Adapter interface {
	// Start begins to bring the agent up, so that the first turn need not wait,
	// and returns at once. An agent that cannot start fails the turn, not this.
	Start()

	// Turn plays one turn and returns how it ended. It brings the agent up
	// where it is not (any more), with the conversation it had. Before the
	// prompt is given to the agent it calls sink.Begin. When ctx is over it
	// returns soon, whatever the agent does.
	Turn(ctx context.Context, prompt guestapi.Prompt, sink Sink) guestapi.End

	// Cancel asks the agent to end the running turn: open asks are answered
	// with cancel and the agent is told. It waits for nothing. Without a
	// running turn it does nothing.
	Cancel()

	// Answer settles an ask. An unknown or settled key is a no-op.
	Answer(key string, answer guestapi.Answer)

	// Kill ends the agent's process, and with it the running turn.
	Kill()

	// Close ends the agent for good and returns when nothing of the adapter
	// runs any more.
	Close()
}

// NewAdapter makes an adapter for an agent. Nothing is started yet.
type NewAdapter func(agent guestapi.Agent, services Services) Adapter

// Services is what the daemon does for an adapter.
type Services struct {
	// Spawn starts a process of the agent, as the agent's user and in its tree,
	// with the session's environment. dir "" means the workspace. The files
	// (stdin, stdout, stderr) may be closed once it has returned. The error is a
	// sentence for people.
	Spawn func(argv []string, dir string, files [3]*os.File) (*proc.Process, error)

	// Environ is what the session and the agent were given as environment; Spawn
	// adds it by itself.
	Environ func() map[string]string

	// Log reports an entry that belongs to no turn.
	Log func(log event.Log, source Source)
}

// Source is the native frame that a report was translated from; its Type, and
// its bytes where they are worth keeping.
type Source struct {
	Type string
	Raw  []byte
}

// Sink takes what an adapter has translated in one turn. Each call returns once
// the report is in the journal, and so waits while the journal is full: an
// adapter that reads its agent in the goroutine that calls the sink holds the
// agent back by that. Reports too long for the wire are cut here.
type Sink interface {
	// Begin marks where the turn starts: processes that the agent's tree starts
	// from now on belong to the turn, and end with it when it is cancelled.
	Begin()

	// Delta reports a piece of the agent's text, or of its thoughts.
	Delta(text string, reasoning bool, source Source)

	// ToolStarted, ToolCompleted, Usage, Cost and Log report an event.
	ToolStarted(event.ToolStarted, Source)
	ToolCompleted(event.ToolCompleted, Source)
	Usage(event.Usage, Source)
	Cost(event.Cost, Source)
	Log(event.Log, Source)

	// Alive notes a sign of life that has no report of its own, so that an agent
	// at work is not taken for a silent one: it becomes a log entry when nothing
	// was reported for a minute.
	Alive(Source)

	// NewKey makes the key of an ask. The answer may come before Ask returns,
	// so whoever waits for it is registered in between.
	NewKey() string

	// Ask reports a question; its Key is set.
	Ask(ask guestapi.Ask, source Source)
}
