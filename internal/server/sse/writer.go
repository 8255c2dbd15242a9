package sse

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"paddock/internal/event"
	"paddock/internal/id"
)

// writer puts frames on a response; what is written together has a deadline.
type writer struct {
	response http.ResponseWriter
	control  *http.ResponseController
	session  id.Session
	ledger   *ledger
	frames   *bytes.Buffer // nil: empty

	mu      sync.Mutex    // guards the deadline of the connection
	timeout time.Duration // 0: closed
}

// newWriter sends the headers.
func newWriter(w http.ResponseWriter, session id.Session, timeout time.Duration, ledger *ledger) *writer {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	return &writer{response: w, control: http.NewResponseController(w), session: session, timeout: timeout, ledger: ledger}
}

// close takes the deadline off the connection, which may serve other calls.
func (o *writer) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.timeout = 0
	_ = o.control.SetWriteDeadline(time.Time{})
}

// hurry leaves the reader little time for what is still to be written: the
// stream is to end, and must not wait for somebody who takes nothing.
func (o *writer) hurry() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.timeout > farewell {
		o.timeout = farewell
		_ = o.control.SetWriteDeadline(time.Now().Add(farewell))
	}
}

// farewell is how long a stream that is to end waits for its reader.
const farewell = time.Second

// deadline begins the time for what is written next.
func (o *writer) deadline() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.control.SetWriteDeadline(time.Now().Add(o.timeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

// comment writes a line that readers of events do not see.
func (o *writer) comment(text string) error {
	o.buffer().WriteString(": " + text + "\n\n")
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
	o.buffer().WriteString("event: stream.state\n")
	err := o.data(struct {
		Session   string    `json:"session_id,omitempty"`
		Timestamp time.Time `json:"timestamp"`
		Type      string    `json:"type"`
		Data      state     `json:"data"`
	}{o.session.String(), time.Now().UTC(), "stream.state", s})
	if err != nil {
		return err
	}
	return o.flush()
}

// event adds one entry of the history to what the next flush writes.
func (o *writer) event(e event.Event, raw bool) {
	frames := o.buffer()
	frames.Grow(e.EnvelopeSize(raw) + frameSize)
	b := frames.AvailableBuffer()
	b = append(append(b, "id: "...), e.ID.String()...)
	b = append(append(b, "\nevent: "...), e.Kind...)
	b = append(b, "\ndata: "...)
	b = append(e.AppendEnvelope(b, raw), "\n\n"...)
	frames.Write(b)
}

// frameSize is about what a frame has besides its event's wire form.
const frameSize = 100

// end is the last line of a stream that gives a part of the history.
func (o *writer) end(part span) error {
	if part.page {
		return o.comment(fmt.Sprintf("has_more=%t", part.more))
	}
	return o.comment("end")
}

// data ends a frame with a value in JSON, which is one line.
func (o *writer) data(value any) error {
	frames := o.buffer()
	frames.WriteString("data: ")
	encoder := json.NewEncoder(frames)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil { // ends with a newline
		return fmt.Errorf("encode frame: %w", err)
	}
	frames.WriteByte('\n')
	return nil
}

// buffers are between uses; a stream that waits has none.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// largeBuffer is the size of buffers that are not used again; a page of ordinary
// events (readPage) fits into less.
const largeBuffer = 128 << 10

func (o *writer) buffer() *bytes.Buffer {
	if o.frames == nil {
		o.frames = buffers.Get().(*bytes.Buffer)
	}
	return o.frames
}

// flush sends the frames.
func (o *writer) flush() error {
	frames := o.frames
	if frames == nil {
		return nil
	}
	defer func() {
		o.frames = nil
		if frames.Reset(); frames.Cap() <= largeBuffer {
			buffers.Put(frames)
		}
	}()
	if err := o.deadline(); err != nil {
		return err
	}
	defer o.ledger.hold(frames.Cap(), func() { _ = o.control.SetWriteDeadline(time.Unix(1, 0)) })()
	if _, err := o.response.Write(frames.Bytes()); err != nil {
		return err
	}
	return o.control.Flush()
}
