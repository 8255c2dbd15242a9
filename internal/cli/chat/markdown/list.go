package markdown

import (
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	tables "github.com/yuin/goldmark/extension/ast"

	"paddock/internal/cli/chat/styled"
)

func (p *page) list(list *ast.List, width int) []styled.Line {
	var out []styled.Line
	digits := len(strconv.Itoa(list.Start + list.ChildCount() - 1))
	number := list.Start
	for n := list.FirstChild(); n != nil; n = n.NextSibling() {
		mark := "• "
		if list.IsOrdered() {
			mark = strconv.Itoa(number) + string(list.Marker) + " "
			mark = strings.Repeat(" ", max(0, digits+2-len(mark))) + mark
			number++
		}
		room := styled.Width(mark)
		lines := p.blocks(n, width-room)
		if len(lines) == 0 {
			lines = []styled.Line{nil}
		}
		if len(out) > 0 && !list.IsTight {
			out = append(out, nil)
		}
		out = append(out, styled.Indent(lines, styled.Text(mark, styled.Style{Color: styled.Accent}),
			styled.Text(strings.Repeat(" ", room), styled.Style{}))...)
	}
	return out
}

// gap stands between the columns of a table.
const gap = "  "

// minColumn is the least a column is narrowed to.
const minColumn = 6

func (p *page) table(table *tables.Table, width int) []styled.Line {
	var rows [][]styled.Line
	for row := table.FirstChild(); row != nil; row = row.NextSibling() {
		style := styled.Style{}
		if row.Kind() == tables.KindTableHeader {
			style.Look = styled.Bold
		}
		var texts []styled.Line
		for c := row.FirstChild(); c != nil; c = c.NextSibling() {
			texts = append(texts, p.inline(c, style))
		}
		rows = append(rows, texts)
	}
	widths := columns(rows, width)
	var out []styled.Line
	for i, row := range rows {
		out = append(out, layRow(row, widths, table.Alignments)...)
		if i == 0 {
			var rule []string
			for _, w := range widths {
				rule = append(rule, strings.Repeat("─", w))
			}
			out = append(out, styled.Text(strings.Join(rule, gap), styled.Style{Look: styled.Faint}).Fit(width))
		}
	}
	return out
}

// columns gives the width of each column: what its cells want, the widest
// narrowed until all fit.
func columns(rows [][]styled.Line, width int) []int {
	var widths []int
	for _, row := range rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 1)
			}
			widths[i] = max(widths[i], c.Width())
		}
	}
	for {
		total, widest := len(gap)*(len(widths)-1), 0
		for i, w := range widths {
			total += w
			if w > widths[widest] {
				widest = i
			}
		}
		if len(widths) == 0 || total <= width || widths[widest] <= minColumn {
			return widths
		}
		widths[widest] = max(minColumn, widths[widest]-max(1, (total-width)/len(widths)))
	}
}

func layRow(row []styled.Line, widths []int, align []tables.Alignment) []styled.Line {
	cells := make([][]styled.Line, len(widths))
	height := 1
	for i := range widths {
		if i < len(row) {
			cells[i] = styled.Wrap(row[i], widths[i])
		}
		height = max(height, len(cells[i]))
	}
	out := make([]styled.Line, height)
	for y := range out {
		var line styled.Line
		for i, w := range widths {
			var c styled.Line
			if y < len(cells[i]) {
				c = cells[i][y]
			}
			if i < len(align) && align[i] == tables.AlignRight {
				c = append(styled.Text(strings.Repeat(" ", max(0, w-c.Width())), styled.Style{}), c...)
			}
			if i < len(widths)-1 {
				c = append(c.Pad(w), styled.Span{Text: gap})
			}
			line = append(line, c...)
		}
		out[y] = line
	}
	return out
}
