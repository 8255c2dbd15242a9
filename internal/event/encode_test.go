package event

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"pgregory.net/rapid"

	"paddock/internal/id"
)

func TestAppendEnvelopeIsEnvelope(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := time.UnixMicro(rapid.Int64Range(0, 1<<52).Draw(t, "at"))
		seq := rapid.Int64Range(1, 1<<40).Draw(t, "seq")
		e := Event{
			ID: id.NewEvent(at, seq, 7), Session: id.New[id.Session](), Seq: seq, At: at,
			Kind:       rapid.SampledFrom(Kinds).Draw(t, "kind"),
			Data:       json.RawMessage(rapid.SampledFrom([]string{`{}`, `{"a":"<&>\n😀"}`, "{\n \"a\": [1,\r\n 2]\n}"}).Draw(t, "data")),
			SourceType: rapid.String().Draw(t, "source type"),
			SourceRaw:  rapid.SliceOf(rapid.Byte()).Draw(t, "source raw"),
			Dropped:    rapid.Int64Range(0, 1<<50).Draw(t, "dropped"),
			RawDropped: rapid.Int64Range(0, 1<<50).Draw(t, "raw dropped"),
		}
		if rapid.Bool().Draw(t, "has a run") {
			e.Run = id.New[id.Run]()
		}
		raw := rapid.Bool().Draw(t, "raw")
		got := e.AppendEnvelope([]byte("x"), raw)[1:]
		if bytes.ContainsAny(got, "\r\n") || len(got) > e.EnvelopeSize(raw) {
			t.Fatalf("%d bytes, at most %d in one line are wanted: %s", len(got), e.EnvelopeSize(raw), got)
		}
		want, err := json.Marshal(e.Envelope(raw))
		if err != nil {
			t.Fatal(err)
		}
		var a, b any
		if err := json.Unmarshal(got, &a); err != nil {
			t.Fatalf("%s: %v", got, err)
		}
		_ = json.Unmarshal(want, &b)
		x, _ := json.Marshal(a)
		y, _ := json.Marshal(b)
		if !bytes.Equal(x, y) {
			t.Fatalf("%s\nwant %s", x, y)
		}
	})
}
