package markdown

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// A text that comes in pieces looks in the end as it would at once.
func TestStream(t *testing.T) {
	var prose, code, output strings.Builder
	for i := range 300 {
		fmt.Fprintf(&prose, "Paragraph %d with *words*\nand more of them.\n\n", i)
		fmt.Fprintf(&output, "line %d\n", i)
	}
	code.WriteString("Look:\n\n```go\n")
	for i := range 900 {
		fmt.Fprintf(&code, "x%d := `%d`\n", i, i)
	}
	code.WriteString("```\n\nThat was it.\n")
	for name, source := range map[string]string{"prose": prose.String(), "code": code.String(), "output": output.String()} {
		s := NewStream(New())
		var got string
		for at := 0; at < len(source); at += 997 {
			got = words(s.Lines(source[:min(len(source), at+997)], 60))
		}
		if want := words(New().Lines(source, 60)); got != want {
			t.Errorf("%s: streamed it is not the same: %d and %d bytes", name, len(got), len(want))
		}
		if rest := len(source) - s.done; rest > 8000 {
			t.Errorf("%s: %d bytes of %d are laid out again each time", name, rest, len(source))
		}
		if again := words(s.Lines(source, 30)); again != words(New().Lines(source, 30)) {
			t.Errorf("%s: it is not the same in another width", name)
		}
	}
}

// Ten thousand lines that come in a thousand pieces are no effort.
func TestStreamStaysFast(t *testing.T) {
	source := strings.Repeat("an output line of some length, as tools print them\n", 10_000)
	s := NewStream(New())
	began := time.Now()
	for at := len(source) / 1000; at <= len(source); at += len(source) / 1000 {
		s.Lines(source[:at], 78)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
}
