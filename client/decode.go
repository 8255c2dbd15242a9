package client

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// decodeEvent reads an event's wire form, which it keeps. Texts that are those
// of the event before are that event's. Histories are long, and encoding/json
// looks at each byte several times: what is written as servers write it is cut
// up here, and everything else is left to encoding/json.
func decodeEvent(line []byte, before Event) (Event, error) {
	if e, ok := cutEvent(line, before); ok {
		return e, nil
	}
	var e Event
	err := json.Unmarshal(line, &e)
	return e, err
}

// cutEvent reads an event whose texts have no escapes, and that has no spaces
// outside its payload and no fields but the ordinary ones; ok is false for all
// others, good or bad.
func cutEvent(line []byte, before Event) (e Event, ok bool) {
	rest, ok := bytes.CutPrefix(line, []byte("{"))
	for ok {
		var name, value []byte
		if name, rest, ok = cutText(rest); !ok || len(rest) == 0 || rest[0] != ':' {
			return e, false
		}
		rest = rest[1:]
		switch string(name) {
		case "event_id":
			value, rest, ok = cutText(rest)
			e.EventID = string(value)
		case "session_id":
			value, rest, ok = cutText(rest)
			e.SessionID = known(value, before.SessionID)
		case "run_id":
			value, rest, ok = cutText(rest)
			e.RunID = known(value, before.RunID)
		case "type":
			value, rest, ok = cutText(rest)
			e.Type = known(value, before.Type)
		case "source_event_type":
			value, rest, ok = cutText(rest)
			e.SourceEventType = known(value, before.SourceEventType)
		case "timestamp":
			value, rest, ok = cutText(rest)
			ok = ok && e.Timestamp.UnmarshalText(value) == nil
		case "seq":
			e.Seq, rest, ok = cutNumber(rest)
		case "truncated_bytes":
			e.TruncatedBytes, rest, ok = cutNumber(rest)
		case "data":
			e.Data, rest, ok = cutObject(rest)
		default:
			return e, false
		}
		if !ok || len(rest) == 0 {
			return e, false
		}
		if rest[0] == '}' {
			return e, len(rest) == 1
		}
		rest, ok = bytes.CutPrefix(rest, []byte(","))
	}
	return e, false
}

// known is a text, without a copy of its own when it is that of before.
func known(text []byte, before string) string {
	if string(text) == before {
		return before
	}
	return string(text)
}

// cutText cuts a text of printable ASCII without escapes.
func cutText(b []byte) (text, rest []byte, ok bool) {
	if len(b) == 0 || b[0] != '"' {
		return nil, nil, false
	}
	for i, c := range b[1:] {
		switch {
		case c == '"':
			return b[1 : 1+i], b[2+i:], true
		case c < ' ', c > '~', c == '\\':
			return nil, nil, false
		}
	}
	return nil, nil, false
}

// cutNumber cuts a whole number that is not negative.
func cutNumber(b []byte) (n int64, rest []byte, ok bool) {
	digits := 0
	for digits < len(b) && '0' <= b[digits] && b[digits] <= '9' {
		digits++
	}
	if digits > 1 && b[0] == '0' {
		return 0, nil, false
	}
	n, err := strconv.ParseInt(string(b[:digits]), 10, 64)
	return n, b[digits:], err == nil
}

// cutObject cuts an object, whatever is in it.
func cutObject(b []byte) (object json.RawMessage, rest []byte, ok bool) {
	if len(b) == 0 || b[0] != '{' {
		return nil, nil, false
	}
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				object = b[: i+1 : i+1]
				return json.RawMessage(object), b[i+1:], json.Valid(object)
			}
		case '"':
			for i++; i < len(b) && b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
		}
	}
	return nil, nil, false
}
