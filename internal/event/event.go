package event

import (
	"encoding/json"
	"time"

	"paddock/internal/id"
)

// Event is one entry of a session's history.
type Event struct {
	ID      id.Event
	Session id.Session
	Run     id.Run // empty on events that belong to no run
	Seq     int64  // from 1, per session
	Place   int64  // in the history of the session's team: grows with each event, may leave gaps
	At      time.Time
	Kind    Kind
	Data    json.RawMessage // the kind's payload, a JSON object

	// SourceType and SourceRaw are the agent's native frame from which the
	// event was translated: its type, and its bytes where they were kept.
	SourceType string
	SourceRaw  []byte

	// Dropped and RawDropped are how many bytes of Data and of SourceRaw were
	// dropped: the event was too large, or is old in a history that was.
	Dropped    int64
	RawDropped int64
}

// Draft is an event before the store has given it its place in the history.
type Draft struct {
	Run        id.Run
	Kind       Kind
	Data       json.RawMessage
	SourceType string
	SourceRaw  []byte
}

// NewDraft makes a draft from one of the payload types of this package. A
// payload that cannot be encoded is a programming error and panics.
func NewDraft(run id.Run, kind Kind, payload any) Draft {
	b, err := json.Marshal(payload)
	if err != nil {
		panic("event: encode " + string(kind) + " payload: " + err.Error())
	}
	return Draft{Run: run, Kind: kind, Data: b}
}

// Envelope is the event's form on the wire (api/openapi.yaml, Event).
type Envelope struct {
	EventID    string          `json:"event_id"`
	SessionID  string          `json:"session_id"`
	RunID      string          `json:"run_id,omitempty"`
	Timestamp  time.Time       `json:"timestamp"`
	Seq        int64           `json:"seq"`
	Type       Kind            `json:"type"`
	Data       json.RawMessage `json:"data"`
	SourceType string          `json:"source_event_type,omitempty"`
	SourceRaw  []byte          `json:"source_raw,omitempty"`

	TruncatedBytes    int64 `json:"truncated_bytes,omitempty"`
	RawTruncatedBytes int64 `json:"source_raw_truncated_bytes,omitempty"`
}

// Envelope gives the wire form; raw says whether the native bytes go along.
func (e Event) Envelope(raw bool) Envelope {
	w := Envelope{
		EventID: e.ID.String(), SessionID: e.Session.String(), RunID: e.Run.String(),
		Timestamp: e.At.UTC(), Seq: e.Seq, Type: e.Kind, Data: e.Data, SourceType: e.SourceType, TruncatedBytes: e.Dropped,
	}
	if raw {
		w.SourceRaw, w.RawTruncatedBytes = e.SourceRaw, e.RawDropped
	}
	return w
}
