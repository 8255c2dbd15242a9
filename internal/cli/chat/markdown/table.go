package markdown

import (
	"strings"

	"github.com/yuin/goldmark/ast"

	"paddock/internal/cli/chat/styled"
)

// gap stands between the columns of a table.
const gap = "  "

// minColumn is the least a column is narrowed to.
const minColumn = 6

// readTable cuts a paragraph into the cells of a table, if it is one: its second
// line says how many columns there are and which stand at the right.
func readTable(source string) (rows [][]string, right []bool) {
	lines := strings.Split(source, "\n")
	if len(lines) < 2 || !strings.Contains(lines[0], "|") {
		return nil, nil
	}
	for _, c := range cellsOf(lines[1]) {
		if strings.Trim(strings.Trim(c, ":"), "-") != "" || !strings.Contains(c, "-") {
			return nil, nil
		}
		right = append(right, strings.HasSuffix(c, ":") && !strings.HasPrefix(c, ":"))
	}
	if len(cellsOf(lines[0])) != len(right) {
		return nil, nil
	}
	for i, line := range lines {
		if i != 1 {
			cells := cellsOf(line)
			rows = append(rows, cells[:min(len(cells), len(right))])
		}
	}
	return rows, right
}

// cellsOf cuts a line at its bars, those apart that are escaped.
func cellsOf(line string) []string {
	line = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), "|"), "|")
	var cells []string
	var cell strings.Builder
	for i := 0; i < len(line); i++ {
		switch {
		case line[i] == '\\' && i+1 < len(line) && line[i+1] == '|':
			cell.WriteByte('|')
			i++
		case line[i] == '|':
			cells = append(cells, strings.TrimSpace(cell.String()))
			cell.Reset()
		default:
			cell.WriteByte(line[i])
		}
	}
	return append(cells, strings.TrimSpace(cell.String()))
}

// cell reads what stands in a cell, a text of its own.
func (p *page) cell(source string, style styled.Style) styled.Line {
	inside := &page{renderer: p.renderer, source: []byte(source)}
	first := p.renderer.parse(inside.source).FirstChild()
	if first == nil || first.Kind() != ast.KindParagraph {
		return styled.Text(source, style)
	}
	return inside.inline(first, style)
}

func (p *page) table(cells [][]string, right []bool, width int) []styled.Line {
	var rows [][]styled.Line
	for i, row := range cells {
		style := styled.Style{}
		if i == 0 {
			style.Look = styled.Bold
		}
		var texts []styled.Line
		for _, c := range row {
			texts = append(texts, p.cell(c, style))
		}
		rows = append(rows, texts)
	}
	widths := columns(rows, width)
	var out []styled.Line
	for i, row := range rows {
		out = append(out, layRow(row, widths, right)...)
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

func layRow(row []styled.Line, widths []int, right []bool) []styled.Line {
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
			if right[i] {
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
