package chat

import "time"

// Kind is what an item of a conversation is.
type Kind string

// The kinds of items.
const (
	Prompt  Kind = "prompt"  // what a person said
	Answer  Kind = "answer"  // what the agent said, in markdown
	Thought Kind = "thought" // what it thought
	Call    Kind = "call"    // what a tool did
	Note    Kind = "note"    // what happened to the session or the run
	End     Kind = "end"     // how a turn ended
)

// Item is one thing in a conversation.
type Item struct {
	Kind Kind
	Key  string // stays the same as long as the history is read from the same place
	Run  string // empty when it belongs to none
	Text string
	Grim bool  // of a Note or an End: something went wrong
	Tool *Tool // of a Call
	Turn *Run  // of an End

	// Version changes whenever anything else of the item does.
	Version int
}

// ToolState is how a tool call stands.
type ToolState string

// The states of a tool call.
const (
	Working  ToolState = "working"
	Asking   ToolState = "asks"
	Done     ToolState = "done"
	Failed   ToolState = "failed"
	Rejected ToolState = "rejected" // by a person
	Denied   ToolState = "denied"   // by policy
	Stopped  ToolState = "stopped"  // the turn ended first
)

// Tool is one call of a tool.
type Tool struct {
	Name     string
	Gist     string // its input in one line
	Input    string // its input in full
	Output   string // a few KiB of it at most
	State    ToolState
	Reason   string // why it was rejected or denied
	ExitCode *int
	Started  time.Time
	Took     time.Duration
}

// Open says whether the call has not ended yet.
func (t *Tool) Open() bool { return t.State == Working || t.State == Asking }
