// Package journal keeps what a guest has to report until the host has it.
//
// Reports are taken one after the other, numbered (epoch, n) and kept until
// they are acknowledged. A full journal makes Add wait, and so the agent whose
// output is being reported: nothing is dropped. Pieces of text that follow each
// other within CoalesceDelay become one report of at most CoalesceSize bytes.
//
// The epoch is the host's: it gives another one at each start and restore of
// the machine. The journal then starts over at n = 1 with what is not stored
// yet; see Attach.
package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"
	"time"

	"paddock/internal/event"
	"paddock/internal/guestapi"
)

// How text is gathered.
const (
	CoalesceDelay = 20 * time.Millisecond
	CoalesceSize  = 1 << 10  // bytes of text after which a report takes no more
	coalesceRaw   = 16 << 10 // the same for the native frames it came from
)

// overhead is what a report takes in a batch beside its data: names, ids.
const overhead = 512

// Journal is a queue of reports. All methods are safe for concurrent use, but
// only one goroutine may be the sender (Attach, Next, Acked).
type Journal struct {
	capacity int

	mu      sync.Mutex
	changed chan struct{} // closed and replaced at each change
	epoch   int64
	// Places count reports in the journal's whole life, from 1; a report's n is
	// its place minus offset. So a new epoch moves the offset, not the reports.
	offset  int64
	acked   int64 // place of the last acknowledged report
	flush   int64 // no report up to this place waits to be coalesced
	entries []entry
	size    int
}

// entry is one report; its place is acked + 1 + its index.
type entry struct {
	report guestapi.Report
	delta  *delta // text that may still grow, not yet in report.Data
	size   int
}

// delta is a report of text that is still open.
type delta struct {
	text  []byte
	think bool
	due   time.Time
}

// New makes an empty journal that holds about capacity bytes
// (guestapi.MaxJournal).
func New(capacity int) *Journal {
	return &Journal{capacity: capacity, changed: make(chan struct{})}
}

// Epoch is the one that reports are numbered in, 0 before the first Attach.
func (j *Journal) Epoch() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.epoch
}

// Add appends a report; its N is given later. It waits while the journal is
// full, and fails only when ctx is over.
func (j *Journal) Add(ctx context.Context, report guestapi.Report) error {
	e := entry{report: report, size: len(report.Data) + encodedRaw(len(report.SourceRaw)) + overhead}
	return j.append(ctx, e)
}

// AddDelta appends a piece of text, which must not be cut inside a code point.
// It joins the piece before it where that is of the same run and kind and not
// yet on its way; now says that the piece must not wait for others.
func (j *Journal) AddDelta(ctx context.Context, run string, piece event.Delta, sourceType string, raw []byte, now bool) error {
	e := entry{
		report: guestapi.Report{Run: run, Type: guestapi.ReportEvent, Kind: event.TokenDelta, SourceType: sourceType, SourceRaw: raw},
		delta:  &delta{text: []byte(piece.Text), think: piece.IsReasoning, due: time.Now().Add(CoalesceDelay)},
		size:   len(piece.Text) + encodedRaw(len(raw)) + overhead,
	}
	if now {
		e.delta.due = time.Time{}
	}
	return j.append(ctx, e)
}

func (j *Journal) append(ctx context.Context, e entry) error {
	for {
		j.mu.Lock()
		if j.size < j.capacity {
			if !j.join(e) {
				j.entries = append(j.entries, e)
				j.size += e.size
			}
			j.wake()
			j.mu.Unlock()
			return nil
		}
		changed := j.changed
		j.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// join puts e's text into the last entry, if that may grow by it. Locked.
func (j *Journal) join(e entry) bool {
	if e.delta == nil || len(j.entries) == 0 {
		return false
	}
	last := &j.entries[len(j.entries)-1]
	d := last.delta
	if d == nil || d.think != e.delta.think || last.report.Run != e.report.Run || last.report.SourceType != e.report.SourceType ||
		len(d.text)+len(e.delta.text) > CoalesceSize || len(last.report.SourceRaw)+len(e.report.SourceRaw) > coalesceRaw {
		return false
	}
	d.text = append(d.text, e.delta.text...)
	// Frames are lines; a reader tells them apart by the newline between them.
	if raw := &last.report.SourceRaw; len(*raw) > 0 && len(e.report.SourceRaw) > 0 {
		*raw = append(append((*raw)[:len(*raw):len(*raw)], '\n'), e.report.SourceRaw...)
	}
	grown := len(e.delta.text) + encodedRaw(len(e.report.SourceRaw)+1)
	last.size += grown
	j.size += grown
	return true
}

// wake tells everybody who waits to look again. Locked.
func (j *Journal) wake() {
	close(j.changed)
	j.changed = make(chan struct{})
}

// seal makes an open entry a plain one. Locked.
func (e *entry) seal() {
	if e.delta == nil {
		return
	}
	// A struct of a string and a bool always encodes.
	e.report.Data, _ = Encode(event.Delta{Text: string(e.delta.text), IsReasoning: e.delta.think})
	e.delta = nil
}

// Encode gives a payload as JSON that is no longer than it must be: without the
// escapes that are only of use inside HTML.
func Encode(payload any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(payload); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// encodedRaw is the length of n bytes in base64.
func encodedRaw(n int) int { return (n + 2) / 3 * 4 }
