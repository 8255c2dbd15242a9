package event

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"time"
)

// AppendEnvelope appends the wire form as one line of JSON: the same as that of
// Envelope, without looking through the payload again, which may be large.
func (e Event) AppendEnvelope(b []byte, raw bool) []byte {
	b = append(b, `{"event_id":"`...)
	b = append(b, e.ID.String()...)
	b = append(b, `","session_id":"`...)
	b = append(b, e.Session.String()...)
	if !e.Run.IsZero() {
		b = append(b, `","run_id":"`...)
		b = append(b, e.Run.String()...)
	}
	b = append(b, `","timestamp":"`...)
	b = e.At.UTC().AppendFormat(b, time.RFC3339Nano)
	b = append(b, `","seq":`...)
	b = strconv.AppendInt(b, e.Seq, 10)
	b = append(b, `,"type":"`...)
	b = append(b, e.Kind...)
	b = append(b, `","data":`...)
	b = appendLine(b, e.Data)
	if e.SourceType != "" {
		b = append(b, `,"source_event_type":`...)
		text, _ := json.Marshal(e.SourceType) // a text always can be
		b = append(b, text...)
	}
	if raw && len(e.SourceRaw) > 0 {
		b = append(b, `,"source_raw":"`...)
		b = base64.StdEncoding.AppendEncode(b, e.SourceRaw)
		b = append(b, '"')
	}
	b = appendCount(b, "truncated_bytes", e.Dropped)
	if raw {
		b = appendCount(b, "source_raw_truncated_bytes", e.RawDropped)
	}
	return append(b, '}')
}

// appendCount appends a field that is left out when it is zero.
func appendCount(b []byte, name string, n int64) []byte {
	if n == 0 {
		return b
	}
	b = append(append(append(b, `,"`...), name...), `":`...)
	return strconv.AppendInt(b, n, 10)
}

// EnvelopeSize is about how long the wire form is, and not less.
func (e Event) EnvelopeSize(raw bool) int {
	size := 420 + len(e.Data) + 6*len(e.SourceType)
	if raw {
		size += base64.StdEncoding.EncodedLen(len(e.SourceRaw))
	}
	return size
}

// appendLine appends a JSON value without line breaks.
func appendLine(b []byte, value json.RawMessage) []byte {
	if bytes.IndexByte(value, '\n') < 0 && bytes.IndexByte(value, '\r') < 0 {
		return append(b, value...)
	}
	out := bytes.NewBuffer(b)
	_ = json.Compact(out, value) // stored payloads are JSON
	return out.Bytes()
}
