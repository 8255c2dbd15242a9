package approval

import (
	"bytes"
	"encoding/json"
	"path"
	"slices"
	"time"

	"paddock/internal/event"
	"paddock/internal/id"
)

// Grant lets pass, for the rest of its session, what a person has approved once:
// exactly that and nothing more. It is ours; the agent is told each time that
// this once is allowed.
type Grant struct {
	ID        id.Grant
	Session   id.Session
	Approval  id.Approval // the question that was answered with it
	Match     Match
	Actor     string // who gave it
	Reason    string
	At        time.Time
	RevokedAt time.Time // zero: it holds
	RevokedBy string
}

// Match is what a grant covers.
type Match struct {
	Action event.Action `json:"action"`
	Tool   string       `json:"tool"`
	Kind   string       `json:"kind,omitempty"`
	// Path is the one file that may be read, written or deleted, whatever goes
	// into it; empty where Input counts.
	Path string `json:"path,omitempty"`
	// Paths are what that file is in full, and where its links lead: should a
	// link lead elsewhere, another file is meant.
	Paths []string `json:"paths,omitempty"`
	// Input is the tool's whole input, but a command's description; its keys
	// are in order.
	Input json.RawMessage `json:"input,omitempty"`
}

// fileKinds are the kinds of tool calls whose path says what they touch.
var fileKinds = []string{"read", "edit", "delete"}

// PathKeys are what agents call the file in a tool's input.
var PathKeys = []string{"path", "file_path", "filePath", "abs_path"}

// MatchOf gives what a grant for a question covers; ok is false when the
// question says too little to tell the same one from another. Without the
// tool's whole input nothing is known of what a short form leaves out.
func MatchOf(asked event.Asked) (m Match, ok bool) {
	d := asked.Details
	input := readInput(d.Input)
	if d.Question != "" || d.Tool == "" || len(input) == 0 {
		return Match{}, false
	}
	m = Match{Action: asked.Action, Tool: d.Tool, Kind: d.Kind}
	if slices.Contains(fileKinds, d.Kind) && path.IsAbs(d.Path) {
		for _, key := range PathKeys {
			if input[key] == d.Path {
				m.Path, m.Paths = path.Clean(d.Path), d.Paths
				return m, true
			}
		}
	}
	if d.Kind == "execute" {
		delete(input, "description") // agents write it anew each time
	}
	text, err := json.Marshal(input)
	m.Input = text
	return m, err == nil && len(input) > 0
}

// readInput reads an object and keeps its numbers as they were written; nil
// when it is none.
func readInput(raw json.RawMessage) (input map[string]any) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if d.Decode(&input) != nil {
		return nil
	}
	return input
}

// Covers says whether the grant holds and decides this question.
func (g Grant) Covers(asked event.Asked) bool {
	m, ok := MatchOf(asked)
	return ok && g.RevokedAt.IsZero() && m.equal(g.Match)
}

// equal compares by the one form that both have in JSON.
func (m Match) equal(other Match) bool {
	a, errA := json.Marshal(m)
	b, errB := json.Marshal(other)
	return errA == nil && errB == nil && string(a) == string(b)
}
