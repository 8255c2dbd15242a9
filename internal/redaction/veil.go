// Package redaction keeps values out of texts, in whatever form they come: as they
// are, in base64, escaped, or cut in two by a stream. It is pure.
package redaction

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// Veil knows the values of one session. A nil Veil knows none and changes
// nothing.
type Veil struct {
	needles []needle
}

// needle is one form of a value.
type needle struct {
	text string
	mark string // what is put in its place
}

// New makes a veil for values, by name. It is nil when there are none.
func New(values map[string]string) *Veil {
	var v Veil
	for name, value := range values {
		for _, form := range forms(value) {
			v.needles = append(v.needles, needle{form, "[redacted " + name + "]"})
		}
	}
	if len(v.needles) == 0 {
		return nil
	}
	slices.SortFunc(v.needles, func(a, b needle) int {
		return cmp.Or(cmp.Compare(len(b.text), len(a.text)), cmp.Compare(a.text, b.text), cmp.Compare(a.mark, b.mark))
	})
	return &v
}

// Repeats says whether a text has one of the marks that stand for values.
func (v *Veil) Repeats(text string) bool {
	return v != nil && slices.ContainsFunc(v.needles, func(n needle) bool { return strings.Contains(text, n.mark) })
}

// span is where a value stands in a text.
type span struct {
	start, end int
	mark       string
}

// find gives the places of values, in order and none over another: where two
// overlap they are one, under the name of the first.
func (v *Veil) find(text string) []span {
	var all []span
	for _, n := range v.needles {
		for at := 0; ; {
			i := strings.Index(text[at:], n.text)
			if i < 0 {
				break
			}
			all = append(all, span{at + i, at + i + len(n.text), n.mark})
			at += i + 1
		}
	}
	slices.SortStableFunc(all, func(a, b span) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end)) })
	var apart []span
	for _, s := range all {
		if last := len(apart) - 1; last >= 0 && s.start < apart[last].end {
			apart[last].end = max(apart[last].end, s.end)
			continue
		}
		apart = append(apart, s)
	}
	return apart
}

// Text gives a text without the values.
func (v *Veil) Text(text string) string {
	if v == nil {
		return text
	}
	return conceal(text, v.find(text), 0, len(text))
}

// conceal gives text[from:to] with the spans replaced that begin before to.
func conceal(text string, spans []span, from, to int) string {
	if len(spans) == 0 {
		return text[from:to]
	}
	var out strings.Builder
	for _, s := range spans {
		if s.end <= from || s.start >= to {
			continue
		}
		out.WriteString(text[from:max(from, s.start)])
		out.WriteString(s.mark)
		from = s.end
	}
	out.WriteString(text[min(from, to):to])
	return out.String()
}

// Bytes gives what an agent wrote without the values: JSON as JSON does, anything else as a text.
func (v *Veil) Bytes(b []byte) []byte {
	if v == nil || len(b) == 0 {
		return b
	}
	if json.Valid(b) {
		return v.JSON(b)
	}
	if text := string(b); v.Text(text) != text {
		return []byte(v.Text(text))
	}
	return b
}

// JSON gives a document without the values, whatever texts of it they stand in;
// as it is when there are none. It has to be valid.
func (v *Veil) JSON(document []byte) []byte {
	if v == nil || len(document) == 0 || bytes.IndexByte(document, '\\') < 0 && len(v.find(string(document))) == 0 {
		return document
	}
	d := json.NewDecoder(bytes.NewReader(document))
	d.UseNumber()
	var value any
	if d.Decode(&value) != nil {
		return []byte(v.Text(string(document)))
	}
	value, changed := v.value(value)
	if !changed {
		return document
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(value) // what was decoded can be encoded
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// value goes through a decoded document.
func (v *Veil) value(in any) (out any, changed bool) {
	switch in := in.(type) {
	case string:
		text := v.Text(in)
		return text, text != in
	case json.Number:
		if text := v.Text(string(in)); text != string(in) {
			return text, true
		}
	case []any:
		for i, part := range in {
			fresh, differs := v.value(part)
			in[i], changed = fresh, changed || differs
		}
		return in, changed
	case map[string]any:
		for key, part := range in {
			fresh, differs := v.value(part)
			name := v.Text(key)
			if name != key {
				delete(in, key)
			}
			if differs || name != key {
				in[name], changed = fresh, true
			}
		}
		return in, changed
	}
	return in, false
}
