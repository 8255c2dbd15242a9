package transcript

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"
)

// Markdown writes the document as Markdown.
func (d *Document) Markdown(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "# Transcript of %s\n\n", span(d.Name))
	fmt.Fprintf(b, "Session %s, agent %s, %s. Made %s, read %s.\n", span(d.ID), span(d.Agent), span(d.State), moment(d.Created), moment(d.Printed))
	if d.Dropped > 0 {
		fmt.Fprintf(b, "\nThis history grew too large: %d bytes of it are no longer kept, as marked.\n", d.Dropped)
	}
	for _, e := range d.Entries {
		if e.Kind != Thought { // which has its line from its fold
			b.WriteByte('\n')
		}
		e.markdown(b)
		if e.Dropped > 0 {
			fmt.Fprintf(b, "\n*%d bytes dropped*\n", e.Dropped)
		}
	}
	return b.Flush()
}

func (e *Entry) markdown(b *bufio.Writer) {
	at := e.At.Format(time.TimeOnly)
	switch e.Kind {
	case Input:
		fmt.Fprintf(b, "## Input, %s\n\n%s", moment(e.At), quote(e.Text))
	case Answer:
		fmt.Fprintf(b, "**Agent**, %s\n\n%s", at, quote(e.Text))
	case Thought:
		folded(b, "Thoughts, "+at, e.Text)
	case Tool:
		fmt.Fprintf(b, "**Tool** %s, %s: %s\n", strings.TrimSpace(span(e.Call.Name)+" "+span(e.Call.Gist)), at, e.Call.Outcome)
		folded(b, "Input", e.Call.Input)
		folded(b, "Output", e.Call.Output)
	case Approval:
		fmt.Fprintf(b, "**Approval** asked for, %s\n\n%s", at, fenced(e.Text))
		for _, r := range e.Replies {
			fmt.Fprintf(b, "\n- %s", r.Outcome)
			if r.Actor != "" {
				fmt.Fprintf(b, " by %s", span(r.Actor))
			}
			fmt.Fprintf(b, ", %s%s", r.At.Format(time.TimeOnly), told(r.Reason))
		}
		if len(e.Replies) == 0 {
			b.WriteString("\n- not answered")
		}
		b.WriteByte('\n')
	case End:
		fmt.Fprintf(b, "**Run** %s%s\n", e.Text, told(e.Detail))
	case Note:
		fmt.Fprintf(b, "*Session, %s:* %s%s\n", moment(e.At), e.Text, told(e.Detail))
	}
}

func told(text string) string {
	if text == "" {
		return ""
	}
	return ": " + span(text)
}

func moment(t time.Time) string { return t.Format(time.DateTime) + " UTC" }

// folded writes a text that is shown when a person asks for it.
func folded(b *bufio.Writer, summary, text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	fmt.Fprintf(b, "\n<details><summary>%s</summary>\n\n%s\n</details>\n", summary, fenced(text))
}

var backticks = regexp.MustCompile("`+")

// longest is the length of the longest row of backticks in a text.
func longest(text string) (n int) {
	for _, row := range backticks.FindAllString(text, -1) {
		n = max(n, len(row))
	}
	return n
}

// fenced is a text as it is: its fence is longer than any in it.
func fenced(text string) string {
	fence := strings.Repeat("`", max(3, longest(text)+1))
	return fence + "\n" + strings.TrimRight(text, "\n") + "\n" + fence + "\n"
}

// span is a line of text as it is, in a sentence of ours.
func span(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if text == "" {
		return ""
	}
	mark := strings.Repeat("`", longest(text)+1)
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	return mark + text + mark
}

// opening is a line that begins a block of code: its indentation, the fence, and
// what follows, which after backticks has none.
var opening = regexp.MustCompile("^[ \t]*(`{3,}[^`]*|~{3,}.*)$")

// quote is Markdown of somebody else's in a quotation, which it cannot leave:
// HTML and images in it are text. Fences are moved to the margin, so that what
// stands between them is code to every reader, whatever list it was in.
func quote(text string) string {
	var b strings.Builder
	fence := "" // of the block of code that is open
	for line := range strings.Lines(strings.TrimRight(text, "\n")) {
		line = strings.TrimRight(line, "\r\n")
		trimmed := strings.TrimLeft(line, " \t")
		switch {
		case fence != "" && closes(trimmed, fence):
			line, fence = fence, ""
		case fence != "":
		case opening.MatchString(line):
			line = trimmed
			fence = trimmed[:len(trimmed)-len(strings.TrimLeft(trimmed, trimmed[:1]))]
		default:
			line = inert.Replace(line)
		}
		b.WriteString("> " + line + "\n")
	}
	if fence != "" {
		b.WriteString("> " + fence + "\n")
	}
	return b.String()
}

// inert makes HTML and images into text.
var inert = strings.NewReplacer("<", "&lt;", "![", `!\[`)

// closes says whether a line ends the block of code that a fence began.
func closes(line, fence string) bool {
	rest := strings.TrimLeft(line, fence[:1])
	return len(line)-len(rest) >= len(fence) && strings.TrimSpace(rest) == ""
}
