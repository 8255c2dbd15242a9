package guest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"paddock/internal/event"
	"paddock/internal/guest/journal"
	"paddock/internal/guestapi"
)

// How much of what an agent says goes into one report, in bytes. Together they
// stay below guestapi.MaxReport, also when every byte of text is escaped.
const (
	maxRaw     = 128 << 10 // native frame; the rest is cut off
	maxPayload = 128 << 10 // JSON of a tool's input, or an ask's payload or form; a longer one is replaced
	maxText    = 64 << 10  // any one text: a delta is split there, others are cut
	maxAsked   = 32 << 10  // what a person decides on; a longer one says that it is cut
	maxWord    = 1 << 10   // names, titles, ids
)

// sink writes the reports of one turn, or, with an empty run, entries that
// belong to none.
type sink struct {
	ctx     context.Context // the daemon's life, which is how long a full journal is waited for
	journal *journal.Journal
	run     string
	begin   func()

	mu      sync.Mutex
	started bool // the first piece of text was given
	asks    int
	last    time.Time // of the last report
}

// alivePause is how long a turn may report nothing before a sign of life is
// reported as such. The host calls a run silent after two minutes.
const alivePause = time.Minute

func (s *sink) Begin() { s.begin() }

func (s *sink) Delta(text string, reasoning bool, source Source) {
	s.mu.Lock()
	first := !s.started
	s.started, s.last = true, time.Now()
	s.mu.Unlock()
	text = strings.ToValidUTF8(text, "\uFFFD")
	for len(text) > 0 {
		piece := clip(text, maxText)
		text = text[len(piece):]
		// The only error is the daemon's end.
		_ = s.journal.AddDelta(s.ctx, s.run, event.Delta{Text: piece, IsReasoning: reasoning}, clip(source.Type, 256), cutRaw(source.Raw), first)
		source.Raw, first = nil, false
	}
}

func (s *sink) ToolStarted(t event.ToolStarted, source Source) {
	t.ToolCallID, t.Name, t.Kind = clip(t.ToolCallID, maxWord), clip(t.Name, maxWord), clip(t.Kind, maxWord)
	t.Input = cutJSON(t.Input)
	s.event(event.ToolCallStarted, t, source)
}

func (s *sink) ToolCompleted(t event.ToolCompleted, source Source) {
	t.ToolCallID, t.Summary = clip(t.ToolCallID, maxWord), clip(t.Summary, maxText)
	s.event(event.ToolCallCompleted, t, source)
}

func (s *sink) Usage(u event.Usage, source Source) { s.event(event.UsageRecorded, u, source) }
func (s *sink) Cost(c event.Cost, source Source)   { s.event(event.CostAccrued, c, source) }

func (s *sink) Log(l event.Log, source Source) {
	l.Message = clip(l.Message, maxText)
	s.event(event.RunLog, l, source)
}

// Alive is part of Sink.
func (s *sink) Alive(source Source) {
	s.mu.Lock()
	due := time.Since(s.last) >= alivePause
	s.mu.Unlock()
	if due {
		s.Log(event.Log{Level: "debug", Message: "the agent is at work"}, Source{Type: source.Type})
	}
}

// NewKey is part of Sink. Run ids are unique for ever, so the key is, also in a
// restored copy.
func (s *sink) NewKey() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asks++
	return fmt.Sprintf("%s/%d", s.run, s.asks)
}

func (s *sink) Ask(ask guestapi.Ask, source Source) {
	d := &ask.Details
	ask.ToolCallID, d.Tool, d.Title = clip(ask.ToolCallID, maxWord), clip(d.Tool, maxWord), clip(d.Title, maxWord)
	d.Command, d.Path, d.Question = abridge(d.Command, maxAsked), abridge(d.Path, 4*maxWord), abridge(d.Question, maxAsked)
	d.Schema, ask.Payload = cutJSON(d.Schema), cutJSON(ask.Payload)
	d.Kind, d.Dir = clip(d.Kind, maxWord), abridge(d.Dir, 4*maxWord)
	if len(d.Input) > maxPayload || !json.Valid(d.Input) || !utf8.Valid(d.Input) {
		d.Input = nil // a part of it would be taken for the whole
	}
	s.report(guestapi.Report{Type: guestapi.ReportAsk}, ask, source)
}

// end reports that the turn is over.
func (s *sink) end(end guestapi.End) {
	end.Text, end.Message, end.StopReason = clip(end.Text, maxText), clip(end.Message, 4*maxWord), clip(end.StopReason, maxWord)
	s.report(guestapi.Report{Type: guestapi.ReportEnd}, end, Source{})
}

func (s *sink) event(kind event.Kind, payload any, source Source) {
	s.report(guestapi.Report{Type: guestapi.ReportEvent, Kind: kind}, payload, source)
}

func (s *sink) report(r guestapi.Report, payload any, source Source) {
	data, err := journal.Encode(payload)
	if err != nil || len(data) > guestapi.MaxReport-maxRaw {
		// Only the fields of a Log have no limit above.
		r.Type, r.Kind = guestapi.ReportEvent, event.RunLog
		data, _ = journal.Encode(event.Log{Level: "warn", Message: fmt.Sprintf("an entry of %d bytes could not be reported", len(data))})
	}
	r.Run, r.Data, r.SourceType, r.SourceRaw = s.run, data, clip(source.Type, 256), cutRaw(source.Raw)
	s.mu.Lock()
	s.last = time.Now()
	s.mu.Unlock()
	_ = s.journal.Add(s.ctx, r) // the only error is the daemon's end
}

func cutRaw(raw []byte) []byte { return raw[:min(len(raw), maxRaw)] }

// cutJSON keeps a JSON value of bearable size and says so where it does not.
func cutJSON(v json.RawMessage) json.RawMessage {
	if len(v) <= maxPayload && (len(v) == 0 || json.Valid(v) && utf8.Valid(v)) {
		return v
	}
	b, _ := json.Marshal(map[string]any{"truncated": true, "bytes": len(v)})
	return b
}

// abridge is clip for what a person decides on: nobody may take a part for the
// whole.
func abridge(s string, n int) string {
	short := clip(s, n)
	if more := len(s) - len(short); more > 0 {
		return fmt.Sprintf("%s… (and %d bytes more that are not shown)", short, more)
	}
	return short
}

// clip cuts s to at most n bytes of whole code points.
func clip(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
