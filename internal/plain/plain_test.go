package plain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"":                      "",
		"größe\tand\nline\n":    "größe\tand\nline\n",
		"👩‍👩‍👧 家":               "👩‍👩‍👧 家",
		"a\r\nb":                "a\nb",
		"12%\r13%":              "12%␍13%",
		"\x1b[2J\x1b]0;title\a": "␛[2J␛]0;title␇",
		"\u009b31m":             "\ufffd31m",
		"safe\u202egpj.exe":     "safe\ufffdgpj.exe",
		"\xff\xfe":              "\ufffd\ufffd",
		"back\b\b\b\x7f":        "back␈␈␈␡",
	} {
		if got := Text(in); got != want {
			t.Errorf("Text(%q) = %q, want %q", in, got, want)
		}
	}
	if got := Line("a\nb\tc\x1b"); got != "a b c␛" {
		t.Errorf("Line gives %q", got)
	}
}

func TestWriter(t *testing.T) {
	var b bytes.Buffer
	n, err := fmt.Fprintf(Writer(&b), "%s\n", "\x1b[1mx")
	if n != len("\x1b[1mx\n") || err != nil || b.String() != "␛[1mx\n" {
		t.Errorf("%d, %v, %q", n, err, b.String())
	}
}

// Whatever a stranger writes, no control reaches the terminal, and JSON keeps
// its meaning.
func TestNothingControls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.StringMatching(`[\x00-\x{a0}\x{202a}-\x{202e}a-z]*`)).Draw(t, "s")
		if got := Text(s); strings.ContainsFunc(got, controls) {
			t.Fatalf("Text(%q) = %q", s, got)
		}
		document, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		safe := JSON(document)
		var back string
		if err := json.Unmarshal(safe, &back); err != nil || strings.ContainsFunc(string(safe), controls) {
			t.Fatalf("JSON(%q) = %q, %v", document, safe, err)
		}
		if want := strings.ToValidUTF8(s, "\ufffd"); back != want && strings.ToValidUTF8(s, "") == s {
			t.Fatalf("%q came back as %q", s, back)
		}
	})
}
