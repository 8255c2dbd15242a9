package redaction

import "strings"

// Tail is the end of a stream that may be the beginning of a value, and is held
// back until more of it comes.
type Tail struct {
	Text string `json:"text"`
	// Shown is how many bytes of it were let through, or are part of a value that
	// was replaced: they are there to know how it goes on.
	Shown int `json:"shown,omitempty"`
}

// Held is how many bytes of the tail nobody has seen.
func (t Tail) Held() int { return len(t.Text) - t.Shown }

// Continue adds a piece to a stream that has come to a tail. It gives what may be
// shown, and the new tail.
func (v *Veil) Continue(t Tail, piece string) (out string, next Tail) {
	if v == nil {
		return t.Text[t.Shown:] + piece, Tail{}
	}
	text := t.Text + piece
	spans := v.find(text)
	from := len(text) - v.begun(text)
	next = Tail{Text: text[from:], Shown: max(0, t.Shown-from)}
	for _, s := range spans {
		if s.start < from && s.end > from { // replaced, and perhaps the beginning of another
			next.Shown = max(next.Shown, s.end-from)
		}
	}
	if t.Shown > from {
		return "", next
	}
	return conceal(text, spans, t.Shown, from), next
}

// begun is how many of a text's last bytes are the beginning of a value.
func (v *Veil) begun(text string) (most int) {
	for _, n := range v.needles {
		for k := min(len(n.text)-1, len(text)); k > most; k-- {
			if strings.HasPrefix(n.text, text[len(text)-k:]) {
				most = k
				break
			}
		}
	}
	return most
}

// Show gives what is held back of a stream that does not go on for now. Of a
// value that it breaks off in, at least half of which is there, nothing is shown.
func (v *Veil) Show(t Tail) (out string, next Tail) {
	next = Tail{Text: t.Text, Shown: len(t.Text)}
	if v == nil || t.Held() <= 0 {
		return t.Text[min(t.Shown, len(t.Text)):], next
	}
	return conceal(t.Text, v.withBroken(t.Text), t.Shown, len(t.Text)), next
}

// withBroken finds values, and at the end the larger half of one.
func (v *Veil) withBroken(text string) []span {
	spans := v.find(text)
	for _, n := range v.needles {
		for k := min(len(n.text)-1, len(text)); k >= max(shortest, (len(n.text)+1)/2); k-- {
			start := len(text) - k
			if !strings.HasPrefix(n.text, text[start:]) {
				continue
			}
			if last := len(spans) - 1; last >= 0 && start < spans[last].end {
				spans[last].end = len(text)
			} else {
				spans = append(spans, span{start, len(text), n.mark})
			}
			return spans
		}
	}
	return spans
}

// Cut gives a text, which may have been cut off at its end, without the values.
func (v *Veil) Cut(text string) string {
	if v == nil {
		return text
	}
	return conceal(text, v.withBroken(text), 0, len(text))
}
