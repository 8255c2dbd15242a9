package markdown

import (
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"paddock/internal/cli/chat/styled"
)

func words(lines []styled.Line) string {
	var out []string
	for _, l := range lines {
		out = append(out, strings.TrimRight(l.Plain(), " "))
	}
	return strings.Join(out, "\n")
}

func TestLines(t *testing.T) {
	for name, c := range map[string]struct {
		source string
		width  int
		want   string
	}{
		"paragraphs":      {"one *two* **three** `four`\nfive\n\nsix", 40, "one two three four\nfive\n\nsix"},
		"wrapped":         {"the quick brown fox", 10, "the quick\nbrown fox"},
		"heading":         {"# Title\ntext", 40, "Title\n\ntext"},
		"list":            {"- one\n- two words here\n  - deep\n- three", 9, "• one\n• two\n  words\n  here\n  • deep\n• three"},
		"loose list":      {"- one\n\n- two", 40, "• one\n\n• two"},
		"numbers":         {"9. nine\n10. ten", 40, " 9. nine\n10. ten"},
		"tasks":           {"- [ ] open\n- [x] done", 40, "• ☐ open\n• ☑ done"},
		"quote":           {"> said\n> so", 40, "│ said\n│ so"},
		"code":            {"```go\nif x {\n\treturn\n}\n```", 40, "  if x {\n          return\n  }"},
		"code, cut":       {"```sh\nls -la", 40, "  ls -la"},
		"long code":       {"```\nabcdefghij\n```", 8, "  abcdef\n  ghij"},
		"link":            {"[here](http://x.y)", 40, "here (http://x.y)"},
		"link to itself":  {"<http://x.y>", 40, "http://x.y"},
		"html":            {"a <b>bold</b>\n\n<div>\nblock\n</div>", 40, "a <b>bold</b>\n\n<div>\nblock\n</div>"},
		"entities":        {"&lt;tag&gt; &amp; \\* &copy;", 40, "<tag> & * ©"},
		"smuggled escape": {"a&#27;]52;c;eA==&#7;b &#x9b;31m &#8238;x [l](&#27;[2J)", 60, "ab  x l (&#27;[2J)"},
		"strike, rule":    {"~~no~~\n\n---", 10, "no\n\n──────────"},
		"table":           {"| a | n |\n|---|--:|\n| long cell | 1 |\n| b | 22 |", 40, "a           n\n─────────  ──\nlong cell   1\nb          22"},
		"narrow table":    {"| key | value |\n|---|---|\n| k | the quick brown fox |", 18, "key  value\n───  ─────────────\nk    the quick\n     brown fox"},
		"wide characters": {"日本語の文章 text", 8, "日本語の\n文章\ntext"},
		"nothing":         {"", 40, ""},
	} {
		if got := words(New().Lines(c.source, c.width)); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, c.want)
		}
	}
}

// However it is written and wherever it is cut, it fits and steers nothing.
func TestWhateverIsWritten(t *testing.T) {
	r := New()
	rapid.Check(t, func(t *rapid.T) {
		source := strings.Join(rapid.SliceOf(rapid.OneOf(
			rapid.SampledFrom([]string{"# ", "- ", "1. ", "> ", "```\n", "`", "*", "**", "[", "](", ")", "| ", "|\n|---|---|\n", "\n", "\n\n", "    ", "&#27;", "&#x9b;", "<b>", "~~"}),
			rapid.StringOfN(rapid.RuneFrom([]rune("abc 日é ")), 1, 12, -1),
		)).Draw(t, "pieces"), "")
		width := rapid.IntRange(20, 60).Draw(t, "width")
		for _, l := range r.Lines(source, width) {
			if strings.ContainsFunc(l.Plain(), func(c rune) bool { return unicode.IsControl(c) && c != '\t' }) {
				t.Fatalf("%q steers a terminal", l.Plain())
			}
		}
	})
}

func BenchmarkLongAnswer(b *testing.B) {
	source := strings.Repeat("Some *prose* with `code` in it, and more of it to wrap somewhere.\n\n- item\n- item\n\n", 500)
	r := New()
	for b.Loop() {
		r.Lines(source, 78)
	}
}
