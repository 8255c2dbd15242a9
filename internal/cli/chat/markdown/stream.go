package markdown

import (
	"strings"

	"paddock/internal/cli/chat/styled"
)

// How many lines of source are laid out again when more comes: a paragraph that
// ends lets the lines before it rest once there are enough of them, and beyond
// the second number any line end does.
const (
	restAtParagraph = 40
	restAnyway      = 200
)

// Stream lays out a text that grows at its end. What cannot change any more is
// laid out once.
type Stream struct {
	renderer Renderer
	width    int
	done     int    // bytes of source that rest
	fence    string // the line that opened the code block in which they end
	lines    []styled.Line
}

// NewStream begins a text.
func NewStream(r Renderer) *Stream { return &Stream{renderer: r} }

// Lines lays out source, which begins with what was given before.
func (s *Stream) Lines(source string, width int) []styled.Line {
	if width != s.width || len(source) < s.done {
		*s = Stream{renderer: s.renderer, width: width}
	}
	for {
		cut, fence, paragraph := seam(source[s.done:], s.fence)
		if cut == 0 {
			break
		}
		s.lines = append(s.lines, s.part(source[s.done:s.done+cut])...)
		if paragraph {
			s.lines = append(s.lines, nil)
		}
		s.done, s.fence = s.done+cut, fence
	}
	tail := s.part(source[s.done:])
	out := append(s.lines[:len(s.lines):len(s.lines)], tail...)
	for len(out) > 0 && out[len(out)-1].Width() == 0 {
		out = out[:len(out)-1]
	}
	return out
}

// part lays out a piece that may begin inside a code block.
func (s *Stream) part(source string) []styled.Line {
	if s.fence != "" {
		source = s.fence + source
	}
	return s.renderer.Lines(source, s.width)
}

// seam finds where a text may be cut, 0 for nowhere yet, the code block that is
// open there, and whether a paragraph ends there.
func seam(source, fence string) (cut int, open string, paragraph bool) {
	at, blank := 0, false
	for n := 0; ; n++ {
		line, _, whole := strings.Cut(source[at:], "\n")
		if !whole {
			return 0, "", false
		}
		if blank && n > restAtParagraph && fence == "" && begins(line) {
			return at, "", true
		}
		if n >= restAnyway {
			return at, fence, false
		}
		fence = after(fence, line+"\n")
		blank = strings.TrimSpace(line) == ""
		at += len(line) + 1
	}
}

// begins says whether a line begins a block that has nothing to do with those
// before it.
func begins(line string) bool {
	return line != "" && !strings.ContainsAny(line[:1], " \t-*+>|0123456789")
}

// after gives the code block that is open after a line.
func after(fence, line string) string {
	mark := fenceMark(line)
	switch {
	case fence == "" && mark != "":
		return line
	case fence != "" && mark != "" && strings.HasPrefix(mark, fenceMark(fence)) && strings.TrimSpace(line) == mark:
		return ""
	}
	return fence
}

// fenceMark is the run of marks that a line begins with, if it makes a fence.
func fenceMark(line string) string {
	line = strings.TrimLeft(line, " ")
	for _, mark := range []string{"`", "~"} {
		if n := len(line) - len(strings.TrimLeft(line, mark)); n >= 3 {
			return line[:n]
		}
	}
	return ""
}
