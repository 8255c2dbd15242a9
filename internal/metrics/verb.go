package metrics

import (
	"time"

	"paddock/internal/fault"
)

// Verb is what the server is asked to do, or does by itself.
type Verb string

// The closed set of verbs.
const (
	Create Verb = "create" // until the session is ready
	Pause  Verb = "pause"
	Resume Verb = "resume"
	Remove Verb = "remove" // until nothing of the session is left
	Input  Verb = "input"  // until the run is stored
	Cancel Verb = "cancel"
	Answer Verb = "answer"
	Exec   Verb = "exec" // as long as the command runs
	List   Verb = "list_files"
	Read   Verb = "read_file" // until the file is open
)

// Verb notes how long a verb took and, by its error, what came of it.
func (m *Metrics) Verb(v Verb, d time.Duration, err error) {
	if m != nil {
		m.verbs.WithLabelValues(string(v), string(fault.OutcomeOf(err))).Observe(d.Seconds())
	}
}
