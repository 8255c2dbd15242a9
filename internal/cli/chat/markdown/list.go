package markdown

import (
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"

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

// task draws the box of a task list's item.
func task(n ast.Node, line styled.Line) styled.Line {
	if n.Parent().Kind() != ast.KindListItem || n.PreviousSibling() != nil {
		return line
	}
	box := ""
	switch text := line.Plain(); {
	case strings.HasPrefix(text, "[ ] "):
		box = "☐ "
	case strings.HasPrefix(text, "[x] "), strings.HasPrefix(text, "[X] "):
		box = "☑ "
	default:
		return line
	}
	cut := len("[ ] ")
	out := styled.Text(box, styled.Style{})
	for _, s := range line {
		n := min(cut, len(s.Text))
		cut -= n
		if s.Text = s.Text[n:]; s.Text != "" {
			out = append(out, s)
		}
	}
	return out
}
