package markdown

import (
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"

	"paddock/internal/cli/chat/styled"
)

// Renderer lays markdown out. It is safe for concurrent use.
type Renderer struct{ dialect goldmark.Markdown }

// New makes a renderer of CommonMark with tables, struck text and task lists.
// These are read here: goldmark's package of extensions compiles its patterns
// whenever any process of this program starts, sandboxes' included.
func New() Renderer { return Renderer{goldmark.New()} }

// Lines lays a text out in lines of at most a width. Line ends inside a
// paragraph stay: what agents print is often no prose. A text whose end is
// still to come is laid out as it stands.
func (r Renderer) Lines(source string, width int) []styled.Line {
	b := []byte(source)
	p := &page{renderer: r, source: b}
	lines := p.blocks(r.parse(b), max(width, 4))
	for len(lines) > 0 && lines[len(lines)-1].Width() == 0 {
		lines = lines[:len(lines)-1]
	}
	return lines
}

func (r Renderer) parse(source []byte) ast.Node {
	return r.dialect.Parser().Parse(text.NewReader(source))
}

// page is one text.
type page struct {
	renderer Renderer
	source   []byte
}

// blocks lays out the blocks inside a node, one blank line between them unless
// they are close together, as the items of a tight list are.
func (p *page) blocks(parent ast.Node, width int) []styled.Line {
	var out []styled.Line
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		lines := p.block(n, width)
		if len(lines) == 0 {
			continue
		}
		if len(out) > 0 && !tight(parent, n) {
			out = append(out, nil)
		}
		out = append(out, lines...)
	}
	return out
}

func tight(parent, n ast.Node) bool {
	if list, ok := parent.(*ast.List); ok {
		return list.IsTight
	}
	if list, ok := parent.Parent().(*ast.List); ok && list.IsTight {
		return true
	}
	return n.Kind() == ast.KindTextBlock
}

func (p *page) block(n ast.Node, width int) []styled.Line {
	switch n := n.(type) {
	case *ast.Heading:
		style := styled.Style{Look: styled.Bold}
		if n.Level == 1 {
			style.Look |= styled.Underline
		}
		return styled.Wrap(p.inline(n, style), width)
	case *ast.Paragraph, *ast.TextBlock:
		if rows, align := readTable(p.raw(n)); rows != nil {
			return p.table(rows, align, width)
		}
		return styled.Wrap(task(n, p.inline(n, styled.Style{})), width)
	case *ast.FencedCodeBlock, *ast.CodeBlock:
		return p.code(n, width)
	case *ast.HTMLBlock:
		return styled.Break(styled.Text(p.raw(n), styled.Style{}), width)
	case *ast.Blockquote:
		bar := styled.Text("│ ", styled.Style{Look: styled.Faint})
		return styled.Indent(p.blocks(n, width-2), bar, bar)
	case *ast.List:
		return p.list(n, width)
	case *ast.ThematicBreak:
		return []styled.Line{styled.Text(strings.Repeat("─", min(width, 24)), styled.Style{Look: styled.Faint})}
	case *ast.LinkReferenceDefinition:
		return nil
	default:
		return p.blocks(n, width)
	}
}

// raw is a block's text as it was written.
func (p *page) raw(n ast.Node) string {
	var b strings.Builder
	for i := range n.Lines().Len() {
		line := n.Lines().At(i)
		b.Write(line.Value(p.source))
	}
	if html, ok := n.(*ast.HTMLBlock); ok && html.HasClosure() {
		b.Write(html.ClosureLine.Value(p.source))
	}
	return strings.TrimRight(b.String(), "\n")
}

func (p *page) code(n ast.Node, width int) []styled.Line {
	lines := styled.Break(styled.Text(p.raw(n), styled.Style{Color: styled.Code}), width-2)
	margin := styled.Text("  ", styled.Style{})
	return styled.Indent(lines, margin, margin)
}
