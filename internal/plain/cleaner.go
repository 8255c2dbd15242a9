package plain

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxMarks is how many combining marks may stand on one character; more only
// serve to smear over the lines around it.
const maxMarks = 6

// mode is what a Cleaner is in the middle of.
type mode int

const (
	inText      mode = iota
	inEscape         // after ESC
	inControl        // after ESC [: parameters, up to a final byte
	inString         // after ESC ] and the like: up to BEL, ST or the end of the line
	inStringEnd      // after an ESC in such a string
)

// Cleaner leaves out of a text what would steer a terminal, where Text makes it
// visible: in what a screen shows, the colours of a tool's output would be
// noise. The text may come in pieces; a sequence may be cut anywhere. The zero
// value is ready.
type Cleaner struct {
	mode  mode
	cr    bool // a carriage return came last
	marks int  // combining marks in a row
}

// Clean gives a whole text without what steers a terminal, as a Cleaner does.
func Clean(s string) string {
	var c Cleaner
	return c.Clean(s)
}

// Clean gives what of the next piece may be shown: printable characters, tabs
// and line ends. Escape sequences are left out, and so are characters that
// reorder or hide others. A carriage return begins a new line.
func (c *Cleaner) Clean(s string) string {
	if c.mode == inText && !c.cr && c.marks == 0 && harmless(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range s {
		c.step(&b, r)
	}
	return b.String()
}

// harmless says whether nothing of a text has to be changed; most is ASCII.
func harmless(s string) bool {
	for i := 0; i < len(s); i++ {
		if b := s[i]; b >= utf8.RuneSelf || b == 0x7f || b < ' ' && b != '\n' && b != '\t' {
			return false
		}
	}
	return true
}

func (c *Cleaner) step(b *strings.Builder, r rune) {
	if c.cr {
		c.cr = false
		b.WriteByte('\n')
		if r == '\n' {
			return
		}
	}
	if r == '\n' || r == '\r' {
		c.mode, c.marks = inText, 0
		if c.cr = r == '\r'; !c.cr {
			b.WriteByte('\n')
		}
		return
	}
	switch c.mode {
	case inEscape:
		c.mode = afterEscape(r)
	case inControl:
		if r >= '@' && r <= '~' {
			c.mode = inText
		}
	case inString:
		switch r {
		case '\a', 0x9c:
			c.mode = inText
		case 0x1b:
			c.mode = inStringEnd
		}
	case inStringEnd:
		if c.mode = inString; r == '\\' {
			c.mode = inText
		}
	default:
		c.text(b, r)
	}
}

func afterEscape(r rune) mode {
	switch {
	case r == '[':
		return inControl
	case strings.ContainsRune("]PX^_", r):
		return inString
	case r >= ' ' && r <= '/', r == 0x1b: // intermediate bytes
		return inEscape
	default:
		return inText
	}
}

func (c *Cleaner) text(b *strings.Builder, r rune) {
	switch {
	case r == 0x1b:
		c.mode = inEscape
	case r == 0x9b:
		c.mode = inControl
	case r == 0x90 || r == 0x98 || r >= 0x9d && r <= 0x9f:
		c.mode = inString
	case r == '\t':
		b.WriteRune(r)
	case r == '\u2028' || r == '\u2029':
		b.WriteByte('\n')
	case unicode.IsControl(r), invisible(r):
	case unicode.In(r, unicode.Mn, unicode.Me):
		if c.marks++; c.marks <= maxMarks {
			b.WriteRune(r)
		}
		return
	default:
		b.WriteRune(r)
	}
	c.marks = 0
}

// invisible says whether a character only changes how others look. The joiners
// stay: scripts and emoji need them.
func invisible(r rune) bool {
	return unicode.Is(unicode.Cf, r) && r != '\u200c' && r != '\u200d'
}

// CleanLine cleans a text and makes one line of it, with single blanks.
func CleanLine(s string) string { return strings.Join(strings.Fields(Clean(s)), " ") }

// Exact shows a text to a person who decides about it: nothing is left out.
// What cannot be seen, or would change how the rest is seen, is spelled out.
func Exact(s string) string {
	var b strings.Builder
	marks := 0
	for i, r := range s {
		if !unicode.In(r, unicode.Mn, unicode.Me) {
			marks = 0
		} else if marks++; marks > maxMarks {
			fmt.Fprintf(&b, "‹U+%04X›", r)
			continue
		}
		switch {
		case r == '\n':
			b.WriteRune(r)
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			fmt.Fprintf(&b, "‹%02X›", s[i])
		case r < ' ':
			b.WriteRune(0x2400 + r) // the picture of the control character
		case r == 0x7f:
			b.WriteRune('\u2421')
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == '\u2028', r == '\u2029', odd(r):
			fmt.Fprintf(&b, "‹U+%04X›", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// odd says whether a character is a blank that is not a space.
func odd(r rune) bool {
	return r != ' ' && unicode.Is(unicode.Zs, r) || r == '\u3164' || r == '\u115f' || r == '\u1160'
}
