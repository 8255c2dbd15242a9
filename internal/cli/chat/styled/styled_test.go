package styled

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func plain(lines []Line) string {
	var out []string
	for _, l := range lines {
		out = append(out, l.Plain())
	}
	return strings.Join(out, "|")
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{
		{"the quick brown fox", 10, "the quick|brown fox"},
		{"the quick", 9, "the quick"},
		{"unbreakableword", 6, "unbrea|kablew|ord"},
		{"a unbreakableword", 6, "a|unbrea|kablew|ord"},
		{"  indented text here", 12, "  indented|text here"},
		{"one\n\ntwo", 10, "one||two"},
		{"日本語の文章です", 6, "日本語|の文章|です"},
		{"ab日本", 3, "ab|日|本"},
		{"é combining", 3, "é|com|bin|ing"},
		{"a\tb", 20, "a       b"},
		{"", 5, ""},
		{"日", 1, "日"},
		{"trailing   blanks", 9, "trailing|blanks"},
	} {
		if got := plain(Wrap(Text(c.text, Style{}), c.width)); got != c.want {
			t.Errorf("Wrap(%q, %d) is %q, want %q", c.text, c.width, got, c.want)
		}
	}
	if got, want := plain(Break(Text("if x {\n    return\n}", Style{}), 6)), "if x {|    re|turn|}"; got != want {
		t.Errorf("Break is %q, want %q", got, want)
	}
}

func TestFit(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{{"short", 5, "short"}, {"longer", 5, "long…"}, {"日本語", 5, "日本…"}, {"日本語", 4, "日…"}, {"x", 0, ""}, {"ab", 1, "…"}} {
		if got := Text(c.text, Style{}).Fit(c.width).Plain(); got != c.want {
			t.Errorf("Fit(%q, %d) is %q, want %q", c.text, c.width, got, c.want)
		}
	}
}

func TestApart(t *testing.T) {
	for _, c := range []struct {
		left, right string
		width       int
		want        string
	}{{"a", "b", 5, "a   b"}, {"a long left side", "right", 15, "a long l… right"}, {"left", "a very long right side", 10, "left"}} {
		if got := Apart(Text(c.left, Style{}), Text(c.right, Style{}), c.width).Plain(); got != c.want {
			t.Errorf("Apart(%q, %q) is %q, want %q", c.left, c.right, got, c.want)
		}
	}
}

// Nothing is wider than it may be, and no character but blanks is lost.
func TestLaidOutTextFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("ab  \n日語é́👍👩\u200dñ\t"))).Draw(t, "text")
		width := rapid.IntRange(2, 12).Draw(t, "width")
		var l Line
		for i, part := range strings.SplitAfter(text, "a") {
			l = append(l, Span{part, Style{Look: Look(i % 2)}})
		}
		for name, lines := range map[string][]Line{"Wrap": Wrap(l, width), "Break": Break(l, width)} {
			var got strings.Builder
			for _, line := range lines {
				// A line of one character may not do better.
				if line.Width() > width && len(cells(Span{Text: line.Plain()})) > 1 {
					t.Fatalf("%s: %q is wider than %d", name, line.Plain(), width)
				}
				got.WriteString(line.Plain())
			}
			if a, b := strings.Join(strings.Fields(got.String()), ""), strings.Join(strings.Fields(text), ""); a != b {
				t.Fatalf("%s: %q became %q", name, b, a)
			}
		}
	})
}
