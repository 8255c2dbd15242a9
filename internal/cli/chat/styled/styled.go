package styled

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Color is what a colour means; terminals choose the shade.
type Color uint8

// The colours.
const (
	Normal Color = iota
	Accent       // what belongs to the person
	Good
	Bad
	Warn
	Code
)

var shades = [...]ansi.BasicColor{Accent: ansi.Cyan, Good: ansi.Green, Bad: ansi.Red, Warn: ansi.Yellow, Code: ansi.Blue}

// Look is a set of attributes, which terminals without colour have, too.
type Look uint8

// The attributes.
const (
	Bold Look = 1 << iota
	Faint
	Italic
	Underline
	Strike
	Reverse
)

// Style is how a text looks; the zero value is plain.
type Style struct {
	Color Color
	Look  Look
}

// With adds attributes.
func (s Style) With(l Look) Style { return Style{s.Color, s.Look | l} }

// In changes the colour.
func (s Style) In(c Color) Style { return Style{c, s.Look} }

func (s Style) apply(text string) string {
	if s == (Style{}) || text == "" {
		return text
	}
	var style ansi.Style
	for _, one := range []struct {
		look Look
		add  func() ansi.Style
	}{
		{Bold, func() ansi.Style { return style.Bold() }},
		{Faint, func() ansi.Style { return style.Faint() }},
		{Italic, func() ansi.Style { return style.Italic(true) }},
		{Underline, func() ansi.Style { return style.Underline(true) }},
		{Strike, func() ansi.Style { return style.Strikethrough(true) }},
		{Reverse, func() ansi.Style { return style.Reverse(true) }},
	} {
		if s.Look&one.look != 0 {
			style = one.add()
		}
	}
	if s.Color != Normal {
		style = style.ForegroundColor(shades[s.Color])
	}
	return style.Styled(text)
}

// Span is a piece of text of one style.
type Span struct {
	Text  string
	Style Style
}

// Line is what stands in one line.
type Line []Span

// Text makes a line of one style.
func Text(text string, style Style) Line { return Line{{text, style}} }

// String is the line with the codes that a terminal understands.
func (l Line) String() string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s.Style.apply(s.Text))
	}
	return b.String()
}

// Plain is the line's text.
func (l Line) Plain() string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s.Text)
	}
	return b.String()
}

// Width is how many columns a line takes.
func (l Line) Width() int {
	n := 0
	for _, s := range l {
		n += Width(s.Text)
	}
	return n
}

// Width is how many columns a text takes. Where terminals differ, about emoji
// that are joined, it is the greater number.
func Width(text string) int {
	if ascii(text) {
		return len(text)
	}
	return max(ansi.StringWidth(text), ansi.StringWidthWc(text))
}

func ascii(text string) bool {
	for i := 0; i < len(text); i++ {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

// Fit cuts a line to a width; what is cut off is told by an ellipsis.
func (l Line) Fit(width int) Line {
	if width <= 0 {
		return nil
	}
	if l.Width() <= width {
		return l
	}
	var out Line
	left := width - 1
	for _, s := range l {
		for _, c := range cells(s) {
			if c.width > left {
				return append(out, Span{"…", s.Style})
			}
			left -= c.width
			out = out.add(c)
		}
	}
	return out
}

// Pad fills a line with blanks up to a width.
func (l Line) Pad(width int) Line {
	if n := width - l.Width(); n > 0 {
		return append(l[:len(l):len(l)], Span{Text: strings.Repeat(" ", n)})
	}
	return l
}

// Apart puts one line at the left and one at the right of a width; the left one
// gives way.
func Apart(left, right Line, width int) Line {
	room := width - right.Width() - 1
	if room < min(left.Width(), width/3) {
		return left.Fit(width)
	}
	left = left.Fit(room)
	return append(left.Pad(width-right.Width()), right...)
}

// Indent puts something in front of lines: first before the first one, rest
// before the others.
func Indent(lines []Line, first, rest Line) []Line {
	out := make([]Line, len(lines))
	for i, l := range lines {
		front := rest
		if i == 0 {
			front = first
		}
		out[i] = append(front[:len(front):len(front)], l...)
	}
	return out
}
