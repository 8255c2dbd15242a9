// Package plain makes text of strangers (agents, files, other people's names)
// harmless for a terminal: what would move the cursor, colour, hide or reorder
// text becomes visible instead.
package plain

import (
	"io"
	"strings"
	"unicode/utf8"
)

// Text gives s without anything that controls a terminal. Line breaks and tabs
// stay; the carriage return before a line break goes.
func Text(s string) string {
	if !strings.ContainsFunc(s, controls) && utf8.ValidString(s) {
		return s
	}
	s = strings.ReplaceAll(s, "\r\n", "\n")
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range s {
		b.WriteRune(visible(r))
	}
	return b.String()
}

// Line is Text in one line: breaks and tabs become blanks.
func Line(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		return r
	}, Text(s))
}

// Writer passes on what Text makes of each write. A write holds whole
// characters, as those of package fmt do.
func Writer(w io.Writer) io.Writer { return writer{w} }

type writer struct{ to io.Writer }

func (w writer) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.to, Text(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// controls says whether a terminal may act on r instead of showing it: control
// characters of ISO 6429, and marks that change the direction of text.
func controls(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < 0x20, r >= 0x7f && r <= 0x9f:
		return true
	default:
		return r == 0x61c || r == 0x200e || r == 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
	}
}

// visible gives what stands for r: Unicode has pictures of the oldest controls.
func visible(r rune) rune {
	switch {
	case !controls(r):
		return r
	case r < 0x20:
		return 0x2400 + r
	case r == 0x7f:
		return 0x2421
	default:
		return utf8.RuneError
	}
}

// JSON gives a JSON document in which such characters are escaped: the same
// document to a program, and harmless to a terminal.
func JSON(document []byte) []byte {
	text := string(document)
	if !strings.ContainsFunc(text, controls) {
		return document
	}
	var b strings.Builder
	for _, r := range text {
		if controls(r) {
			const hex = "0123456789abcdef"
			b.WriteString(`\u`)
			for shift := 12; shift >= 0; shift -= 4 {
				b.WriteByte(hex[r>>shift&0xf])
			}
			continue
		}
		b.WriteRune(r)
	}
	return []byte(b.String())
}
