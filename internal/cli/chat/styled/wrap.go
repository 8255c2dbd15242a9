package styled

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// tabStop is the distance of tab stops, in columns.
const tabStop = 8

// cell is one character as a person counts them.
type cell struct {
	text  string
	width int
	style Style
}

func (c cell) blank() bool { return c.text == " " }

// cells cuts a span into characters.
func cells(s Span) []cell {
	out := make([]cell, 0, len(s.Text))
	for text := s.Text; text != ""; {
		if b := text[0]; b >= ' ' && b <= '~' && (len(text) == 1 || text[1] <= '~') {
			out = append(out, cell{text[:1], 1, s.Style})
			text = text[1:]
			continue
		}
		cluster, width := ansi.FirstGraphemeCluster(text, ansi.GraphemeWidth)
		if cluster == "" {
			break
		}
		if width > 0 {
			width = max(width, ansi.StringWidthWc(cluster))
		}
		out = append(out, cell{cluster, width, s.Style})
		text = text[len(cluster):]
	}
	return out
}

// add appends a character and joins it with what looks alike before it.
func (l Line) add(c cell) Line {
	if n := len(l); n > 0 && l[n-1].Style == c.style {
		l[n-1].Text += c.text
		return l
	}
	return append(l, Span{c.text, c.style})
}

// join makes a line of characters.
func join(row []cell) Line {
	var l Line
	for from := 0; from < len(row); {
		to := from
		var b strings.Builder
		for to < len(row) && row[to].style == row[from].style {
			b.WriteString(row[to].text)
			to++
		}
		l = append(l, Span{b.String(), row[from].style})
		from = to
	}
	return l
}

// Wrap lays text out in lines of at most a width, between words where it can.
func Wrap(text Line, width int) []Line { return wrap(text, width, true) }

// Break lays text out in lines of at most a width and keeps its blanks, as code
// and output want it.
func Break(text Line, width int) []Line { return wrap(text, width, false) }

func wrap(text Line, width int, words bool) []Line {
	width = max(width, 1)
	var out []Line
	var row []cell
	for _, s := range text {
		for i, part := range strings.Split(s.Text, "\n") {
			if i > 0 {
				out = fill(out, row, width, words)
				row = nil
			}
			row = append(row, cells(Span{part, s.Style})...)
		}
	}
	return fill(out, row, width, words)
}

// fill cuts one paragraph into lines.
func fill(out []Line, row []cell, width int, words bool) []Line {
	row = expand(row)
	for {
		end, used := 0, 0
		for end < len(row) && used+row[end].width <= width {
			used += row[end].width
			end++
		}
		if end == 0 && len(row) > 0 {
			end = 1 // one that is wider than the line stands alone
		}
		if end == len(row) {
			return append(out, join(trimRight(row, words)))
		}
		cut, next := end, end
		if words {
			cut, next = between(row, end)
		}
		out = append(out, join(trimRight(row[:cut], words)))
		row = row[next:]
	}
}

// between finds the end of the last word that fits, and where the next begins.
// Wide characters need no blank to be parted.
func between(row []cell, end int) (cut, next int) {
	indent := 0
	for indent < end && row[indent].blank() {
		indent++
	}
	for i := end; i > indent; i-- {
		if row[i].blank() {
			next = i
			for next < len(row) && row[next].blank() {
				next++
			}
			return i, next
		}
		if row[i].width > 1 && row[i-1].width > 1 {
			return i, i
		}
	}
	return end, end
}

// trimRight leaves out blanks at the end of a line.
func trimRight(row []cell, words bool) []cell {
	for words && len(row) > 0 && row[len(row)-1].blank() {
		row = row[:len(row)-1]
	}
	return row
}

// expand writes tabs as blanks.
func expand(row []cell) []cell {
	tabs := false
	for _, c := range row {
		tabs = tabs || c.text == "\t"
	}
	if !tabs {
		return row
	}
	var out []cell
	at := 0
	for _, c := range row {
		if c.text != "\t" {
			out = append(out, c)
			at += c.width
			continue
		}
		for n := tabStop - at%tabStop; n > 0; n-- {
			out = append(out, cell{" ", 1, c.style})
			at++
		}
	}
	return out
}
