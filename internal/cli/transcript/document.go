package transcript

import (
	"time"

	"paddock/client"
	"paddock/internal/plain"
)

// Document is a session's history for reading. All its text is clean (package
// plain).
type Document struct {
	Name    string    `json:"name"`
	ID      string    `json:"session_id"`
	Agent   string    `json:"agent"`
	State   string    `json:"state"`
	Created time.Time `json:"created_at"`
	Printed time.Time `json:"printed_at"`
	Events  int       `json:"events"`            // that were read
	Dropped int64     `json:"dropped,omitempty"` // bytes that these lack
	Entries []*Entry  `json:"entries"`

	runs    map[string]*run
	cleaner plain.Cleaner     // of the text that is being said
	calls   map[string]*Entry // by run and tool call
	asks    map[string]*Entry // by id
	state   string            // as events told it last
}

// Kind is what an entry is.
type Kind string

// The kinds of entries.
const (
	Input    Kind = "input"    // what a person asked for
	Answer   Kind = "answer"   // what the agent said
	Thought  Kind = "thought"  // what it thought
	Tool     Kind = "tool"     // what a tool did
	Approval Kind = "approval" // what a person was asked
	Note     Kind = "note"     // what happened to the session
	End      Kind = "end"      // how a run ended
)

// Entry is one thing in a document.
type Entry struct {
	Kind    Kind      `json:"kind"`
	At      time.Time `json:"at"`
	Run     string    `json:"run_id,omitempty"`
	Text    string    `json:"text,omitempty"`
	Detail  string    `json:"detail,omitempty"` // of a Note or an End: in others' words
	Grim    bool      `json:"grim,omitempty"`   // something went wrong
	Call    *Call     `json:"call,omitempty"`
	Replies []Reply   `json:"replies,omitempty"` // to an Approval, in order
	Dropped int64     `json:"dropped,omitempty"` // bytes of it that are no longer kept
}

// Call is one call of a tool.
type Call struct {
	Name    string `json:"name"`
	Gist    string `json:"gist,omitempty"` // its command or path
	Input   string `json:"input,omitempty"`
	Output  string `json:"output,omitempty"`
	Outcome string `json:"outcome"`
}

// Reply is an answer to an approval.
type Reply struct {
	At      time.Time `json:"at"`
	Outcome string    `json:"outcome"`
	Actor   string    `json:"actor,omitempty"`
	Reason  string    `json:"reason,omitempty"`
}

// run is what is known of a run while its events are read.
type run struct {
	started time.Time
	said    bool
	in, out int64
}

// New begins the document of a session.
func New(s client.Session, state string, now time.Time) *Document {
	return &Document{
		Name: plain.CleanLine(s.Name), ID: plain.CleanLine(s.SessionID), Agent: plain.CleanLine(s.Adapter), State: state,
		Created: s.CreatedAt.UTC(), Printed: now.UTC(), Entries: []*Entry{},
		runs: map[string]*run{}, calls: map[string]*Entry{}, asks: map[string]*Entry{},
	}
}

// add appends an entry about an event.
func (d *Document) add(e client.Event, kind Kind, text string) *Entry {
	entry := &Entry{Kind: kind, At: e.Timestamp.UTC(), Run: plain.CleanLine(e.RunID), Text: text, Dropped: e.TruncatedBytes}
	d.Entries = append(d.Entries, entry)
	d.cleaner = plain.Cleaner{}
	return entry
}

// run finds a run, or makes it: a history may begin in the middle of one.
func (d *Document) run(e client.Event) *run {
	r := d.runs[e.RunID]
	if r == nil {
		r = &run{started: e.Timestamp}
		d.runs[e.RunID] = r
	}
	return r
}
