package sse

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"paddock/internal/event"
	"paddock/internal/id"
)

// writer puts frames on a response, each with a deadline and flushed.
type writer struct {
	response http.ResponseWriter
	control  *http.ResponseController
	session  id.Session
	timeout  time.Duration
	frame    bytes.Buffer
}

// newWriter sends the headers.
func newWriter(w http.ResponseWriter, session id.Session, timeout time.Duration) *writer {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	return &writer{response: w, control: http.NewResponseController(w), session: session, timeout: timeout}
}

// close takes the deadline off the connection, which may serve other calls.
func (o *writer) close() { _ = o.control.SetWriteDeadline(time.Time{}) }

// comment writes a line that readers of events do not see.
func (o *writer) comment(text string) error {
	o.frame.WriteString(": " + text + "\n\n")
	return o.flush()
}

// state is the payload of a frame about the stream itself.
type state struct {
	State     string `json:"state"` // catching_up, live, superseded
	Cursor    string `json:"cursor,omitempty"`
	Truncated bool   `json:"truncated,omitempty"`
}

// state writes a stream.state frame. It has no id: a reader's place is that of
// the last event.
func (o *writer) state(s state) error {
	o.frame.WriteString("event: stream.state\n")
	return o.data(struct {
		Session   string    `json:"session_id"`
		Timestamp time.Time `json:"timestamp"`
		Type      string    `json:"type"`
		Data      state     `json:"data"`
	}{o.session.String(), time.Now().UTC(), "stream.state", s})
}

// event writes one entry of the history.
func (o *writer) event(e event.Event, raw bool) error {
	fmt.Fprintf(&o.frame, "id: %s\nevent: %s\n", e.ID, e.Kind)
	return o.data(e.Envelope(raw))
}

// end is the last line of a stream that gives a part of the history.
func (o *writer) end(part span) error {
	if part.page {
		return o.comment(fmt.Sprintf("has_more=%t", part.after > 0))
	}
	return o.comment("end")
}

// data ends a frame with a value in JSON, which is one line.
func (o *writer) data(value any) error {
	o.frame.WriteString("data: ")
	encoder := json.NewEncoder(&o.frame)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil { // ends with a newline
		return fmt.Errorf("encode frame: %w", err)
	}
	o.frame.WriteByte('\n')
	return o.flush()
}

// flush sends the frame.
func (o *writer) flush() error {
	defer o.frame.Reset()
	if err := o.control.SetWriteDeadline(time.Now().Add(o.timeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if _, err := o.response.Write(o.frame.Bytes()); err != nil {
		return err
	}
	return o.control.Flush()
}
