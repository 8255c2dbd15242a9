package event

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// The most that is kept of one event, in bytes.
const (
	MaxData = 512 << 10 // of its payload, as JSON
	MaxRaw  = 256 << 10 // of the agent's native frame
)

// ShortField is what is left of a long field of a payload whose body is
// dropped, in bytes of JSON: ids, names, counts and short texts stay whole.
const ShortField = 128

// Fit gives a payload and a frame that one event may have, and how many bytes of
// each were dropped for that.
func Fit(data json.RawMessage, raw []byte) (fit json.RawMessage, dropped int, fitRaw []byte, droppedRaw int) {
	fit = data
	for field := MaxData / 4; len(fit) > MaxData; field /= 4 {
		if field < ShortField {
			fit = json.RawMessage("{}") // of countless fields
			break
		}
		fit, _ = Abridge(data, field)
	}
	fitRaw = raw[:min(len(raw), MaxRaw)]
	return fit, len(data) - len(fit), fitRaw, len(raw) - len(fitRaw)
}

// Abridge shortens every field of a payload that is longer than some bytes of
// JSON, and says how many bytes that dropped. Of a text its beginning is left,
// of an object its short fields, of a list nothing.
func Abridge(data json.RawMessage, field int) (short json.RawMessage, dropped int) {
	if len(data) <= field {
		return data, 0
	}
	short = abridgeObject(data, field, 2)
	if short == nil {
		short = json.RawMessage("{}")
	}
	if len(short) >= len(data) {
		return data, 0
	}
	return short, len(data) - len(short)
}

// abridgeObject shortens the fields of an object, and those of objects in it
// down to a depth; nil when it is none.
func abridgeObject(object json.RawMessage, field, depth int) json.RawMessage {
	var fields map[string]json.RawMessage
	if depth == 0 || json.Unmarshal(object, &fields) != nil {
		return nil
	}
	for name, value := range fields {
		switch {
		case len(value) <= field:
			continue
		case value[0] == '"':
			value = abridgeText(value, field)
		case value[0] == '{':
			value = abridgeObject(value, field, depth-1)
		default:
			value = nil
		}
		if value == nil {
			delete(fields, name)
		} else {
			fields[name] = value
		}
	}
	return encode(fields)
}

// abridgeText keeps the beginning of a text, which says with … that it is one.
func abridgeText(value json.RawMessage, field int) json.RawMessage {
	var text string
	if json.Unmarshal(value, &text) != nil {
		return nil
	}
	for n := min(field, len(text)); ; n /= 2 {
		for n > 0 && !utf8.RuneStart(text[min(n, len(text)-1)]) {
			n--
		}
		// Escaped characters take more bytes than they have.
		if short := encode(text[:n] + "…"); len(short) <= field || n == 0 {
			return short
		}
	}
}

func encode(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return nil
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}
