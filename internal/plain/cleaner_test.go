package plain

import (
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                         "plain",
		"a\tb\nc":                       "a\tb\nc",
		"dos\r\nlines\rover":            "dos\nlines\nover",
		"\x1b[31mred\x1b[0m":            "red",
		"\x1b[2J\x1b[Hgone":             "gone",
		"\x1b]0;title\aafter":           "after",
		"\x1b]52;c;cm0gLXJm\x1b\\after": "after",
		"\x1bP$q\x1b\\\x1b_apc\x1b\\\x1b^pm\x1b\\": "",
		"\x1b]8;;http://evil\x1b\\here":            "here",
		"\u009b31mred":                             "red",
		"\u009d0;title\u009cafter":                 "after",
		"\x1b]never ended\nnext":                   "\nnext",
		"\x1b(0lines\x1bcreset":                    "linesreset",
		"bell\a back\b nul\x00 del\x7f":            "bell back nul del",
		"\u202eevil\u2066x\u2069":                  "evilx",
		"日本語 👩‍👩‍👧 é":                              "日本語 👩‍👩‍👧 é",
		"a" + strings.Repeat("\u0301", 99):         "a" + strings.Repeat("\u0301", maxMarks),
	} {
		if got := Clean(in); got != want {
			t.Errorf("Clean(%q) is %q, want %q", in, got, want)
		}
	}
}

// Whatever is said, in whatever pieces, nothing that steers a terminal is left,
// and the pieces come to the same as the whole.
func TestNothingSteersTheTerminal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOf(rapid.OneOf(
			rapid.String(),
			rapid.SampledFrom([]string{"\x1b", "[", "]", "52;c;x", "\a", "\x1b\\", "31m", "\u009b", "\r", "\n", "P", "text"}),
		)).Draw(t, "pieces")
		var c Cleaner
		var got strings.Builder
		for _, p := range pieces {
			got.WriteString(c.Clean(p))
		}
		if whole := Clean(strings.Join(pieces, "")); whole != got.String() {
			t.Fatalf("in pieces %q, whole %q", got.String(), whole)
		}
		for _, r := range got.String() {
			if unicode.IsControl(r) && r != '\n' && r != '\t' {
				t.Fatalf("%q is left in %q", r, got.String())
			}
		}
	})
}

func TestExact(t *testing.T) {
	for in, want := range map[string]string{
		"rm -rf build":         "rm -rf build",
		"two\nlines":           "two\nlines",
		"\x1b[8mhidden":        "␛[8mhidden",
		"a\tb\r\x7f":           "a␉b␍␡",
		"\u202egnp.exe":        "‹U+202E›gnp.exe",
		"zero\u200bwidth":      "zero‹U+200B›width",
		"no\u00a0break":        "no‹U+00A0›break",
		"bad\xffbyte":          "bad‹FF›byte",
		"real \uFFFD":          "real \uFFFD",
		"ü ñ 日本":               "ü ñ 日本",
		"tag\U000E0041":        "tag‹U+E0041›",
		"\u009b2J":             "‹U+009B›2J",
		"blank\u3164":          "blank‹U+3164›",
		"join\u200der \u2028.": "join‹U+200D›er ‹U+2028›.",
	} {
		if got := Exact(in); got != want {
			t.Errorf("Exact(%q) is %q, want %q", in, got, want)
		}
	}
}

func TestCleanLine(t *testing.T) {
	if got := CleanLine(" \x1b[1ma\n\tb  c "); got != "a b c" {
		t.Errorf("got %q", got)
	}
}
