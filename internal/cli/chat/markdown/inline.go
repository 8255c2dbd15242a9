package markdown

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/util"

	"paddock/internal/cli/chat/styled"
	"paddock/internal/plain"
)

// inline gives the text inside a block, styled.
func (p *page) inline(parent ast.Node, style styled.Style) styled.Line {
	var out styled.Line
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		out = append(out, p.span(n, style)...)
	}
	return out
}

func (p *page) span(n ast.Node, style styled.Style) styled.Line {
	switch n := n.(type) {
	case *ast.Text:
		return struck(p.words(n), style)
	case *ast.String:
		return styled.Text(plain.Clean(string(n.Value)), style)
	case *ast.CodeSpan:
		return p.codeSpan(n, style.In(styled.Code))
	case *ast.Emphasis:
		if n.Level > 1 {
			return p.inline(n, style.With(styled.Bold))
		}
		return p.inline(n, style.With(styled.Italic))
	case *ast.Link:
		return p.link(p.inline(n, style.With(styled.Underline)), string(n.Destination), style)
	case *ast.Image:
		return p.link(append(styled.Text("image ", style), p.inline(n, style.With(styled.Underline))...), string(n.Destination), style)
	case *ast.AutoLink:
		return styled.Text(plain.Clean(string(n.Label(p.source))), style.With(styled.Underline))
	case *ast.RawHTML:
		var b strings.Builder
		for i := range n.Segments.Len() {
			segment := n.Segments.At(i)
			b.Write(segment.Value(p.source))
		}
		return styled.Text(b.String(), style)
	default:
		return p.inline(n, style)
	}
}

// struck strikes what stands between two tildes and two more.
func struck(text string, style styled.Style) styled.Line {
	var out styled.Line
	for {
		before, rest, begun := strings.Cut(text, "~~")
		middle, after, ended := strings.Cut(rest, "~~")
		if !begun || !ended || strings.TrimSpace(middle) != middle || middle == "" {
			return append(out, styled.Span{Text: text, Style: style})
		}
		if before != "" {
			out = append(out, styled.Span{Text: before, Style: style})
		}
		out = append(out, styled.Span{Text: middle, Style: style.With(styled.Strike)})
		if text = after; text == "" {
			return out
		}
	}
}

// words is a text with its escapes and entities resolved. An entity may stand
// for any character, so the text is cleaned once more.
func (p *page) words(n *ast.Text) string {
	b := n.Segment.Value(p.source)
	if !n.IsRaw() {
		b = util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(b)))
	}
	text := plain.Clean(string(b))
	if n.SoftLineBreak() || n.HardLineBreak() {
		text += "\n"
	}
	return text
}

func (p *page) codeSpan(n *ast.CodeSpan, style styled.Style) styled.Line {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.Write(t.Segment.Value(p.source))
		}
	}
	return styled.Text(strings.ReplaceAll(b.String(), "\n", " "), style)
}

// link shows where a link leads, unless its text says so.
func (p *page) link(text styled.Line, target string, style styled.Style) styled.Line {
	if target = plain.CleanLine(target); target == "" || target == text.Plain() {
		return text
	}
	return append(text, styled.Span{Text: " (" + target + ")", Style: style.With(styled.Faint)})
}
