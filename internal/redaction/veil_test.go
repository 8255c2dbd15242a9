package redaction

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const key = "sk-Üx/0\"9<+>k3y~end"

func TestText(t *testing.T) {
	v := New(map[string]string{"KEY": key, "PEM": "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n-----END KEY-----\n", "SHORT": "abcdef"})
	for text, want := range map[string]string{
		"nothing":                              "nothing",
		"a " + key + " b " + key:               "a [redacted KEY] b [redacted KEY]",
		"abcdefabcdef":                         "[redacted SHORT][redacted SHORT]",
		"u=" + url.QueryEscape(key):            "u=[redacted KEY]",
		"u=" + url.PathEscape(key):             "u=[redacted KEY]",
		`{\"key\":\"sk-Üx/0\\\"9<+>k3y~end\"}`: `{\"key\":\"sk-Üx/0\\\"9<+>k3y~end\"}`, // twice escaped is beyond us
		`{"key":"sk-Üx/0\"9<+>k3y~end"}`:       `{"key":"[redacted KEY]"}`,
		"BKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj":     "[redacted PEM]",
		"-----BEGIN KEY-----":                  "-----BEGIN KEY-----",
	} {
		if got := v.Text(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
	if got := v.Text("-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n-----END KEY-----"); got != "[redacted PEM]" {
		t.Errorf("%q", got)
	}
}

// Whatever stands before and behind a value, no base64 of it gets through.
func TestBase64(t *testing.T) {
	long := strings.Repeat("0123456789abcdef!", 20)
	v := New(map[string]string{"KEY": key, "LONG": long})
	for _, before := range []string{"", "u", "us", "use", "user:"} {
		for _, after := range []string{"", "\n", "ab", "abc"} {
			for _, e := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding, base64.RawURLEncoding} {
				got := v.Text("x " + e.EncodeToString([]byte(before+key+after)) + " y")
				if !strings.Contains(got, "[redacted KEY]") || len(got) > len("x [redacted KEY] y")+2+2*base64.StdEncoding.EncodedLen(len(before+after)) {
					t.Errorf("%q %q: %q", before, after, got)
				}
			}
		}
	}
	whole := base64.StdEncoding.EncodeToString([]byte(long))
	for _, width := range []int{64, 76} {
		var lines []string
		for rest := whole; rest != ""; rest = rest[min(width, len(rest)):] {
			lines = append(lines, rest[:min(width, len(rest))])
		}
		if got := v.Text(strings.Join(lines, "\n")); strings.Count(got, "[redacted LONG]") < len(lines)-1 || strings.Contains(got, lines[1]) {
			t.Errorf("in lines of %d: %q", width, got)
		}
	}
}

func TestJSON(t *testing.T) {
	v := New(map[string]string{"KEY": key, "NUMBER": "12345678"})
	inner, _ := json.Marshal(map[string]string{"k": key})
	text, _ := json.Marshal(map[string]any{"a": key, "b": []any{1.5, "x" + key, map[string]any{key: nil}}, "inner": string(inner), "n": json.Number("9007199254740993"), "m": 12345678})
	want := `{"a":"[redacted KEY]","b":[1.5,"x[redacted KEY]",{"[redacted KEY]":null}],"inner":"{\"k\":\"[redacted KEY]\"}","m":"[redacted NUMBER]","n":9007199254740993}`
	if got := string(v.JSON(text)); got != want {
		t.Errorf("%s", got)
	}
	escaped := `{"a": "sk-\u00dcx\/0\u00229\u003c+\u003Ek3y~end"}`
	if got := string(v.JSON([]byte(escaped))); got != `{"a":"[redacted KEY]"}` {
		t.Errorf("%s", got)
	}
	same := `{ "b" :1e400, "a": "\u003c" }`
	if got := string(v.JSON([]byte(same))); got != same {
		t.Errorf("%s", got)
	}
	if got := string(v.Bytes([]byte("no JSON: " + key + "\xff"))); got != "no JSON: [redacted KEY]\xff" {
		t.Errorf("%q", got)
	}
	var none *Veil
	if New(nil) != nil || none.Text(key) != key || string(none.JSON(text)) != string(text) || string(none.Bytes(text)) != string(text) {
		t.Error("a veil of nothing hides something")
	}
}

// However a stream is cut, what is shown of it is the whole text without values,
// and not one byte of a value but what ends the stream.
func TestStream(t *testing.T) {
	v := New(map[string]string{"KEY": "abcabcabd", "OTHER": "abcdabcd"})
	rapid.Check(t, func(t *rapid.T) {
		whole := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"a", "b", "c", "d", "abcabcabd", "abcdabcd", "é", "YWJjYWJjYWJk", "YWJjYW"})).Draw(t, "text"), "")
		var tail Tail
		var shown string
		for rest := whole; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			var out string
			out, tail = v.Continue(tail, rest[:n])
			shown, rest = shown+out, rest[n:]
		}
		out, tail := v.Show(tail)
		shown += out
		if tail.Held() != 0 {
			t.Fatalf("%d bytes are held back for good", tail.Held())
		}
		for _, secret := range []string{"abcabcabd", "abcdabcd", "YWJjYWJjYWJk"} {
			if strings.Contains(shown, secret) {
				t.Fatalf("%q shows %q", whole, shown)
			}
		}
		plain := strings.NewReplacer("[redacted KEY]", "", "[redacted OTHER]", "")
		if plain.Replace(shown) != plain.Replace(v.Cut(whole)) {
			t.Fatalf("%q\nshows %q\nwant  %q", whole, shown, v.Cut(whole))
		}
	})
}

// A stream that stands still shows what it was held back with; when it goes on
// with the rest of a value, that is not shown.
func TestShow(t *testing.T) {
	v := New(map[string]string{"KEY": "s3cret-value"})
	out, tail := v.Continue(Tail{}, "it is s3c")
	if out != "it is " || tail.Held() != 3 {
		t.Fatalf("%q, %+v", out, tail)
	}
	out, tail = v.Show(tail)
	if out != "s3c" || tail.Held() != 0 {
		t.Fatalf("%q, %+v", out, tail)
	}
	if again, _ := v.Show(tail); again != "" {
		t.Errorf("%q is shown twice", again)
	}
	out, tail = v.Continue(tail, "ret-value.")
	if out != "[redacted KEY]." || tail.Text != "" {
		t.Errorf("%q, %+v", out, tail)
	}
	for piece, want := range map[string]string{"s3cret-": "[redacted KEY]", "s3cre": "s3cre"} {
		_, tail := v.Continue(Tail{}, piece)
		if out, _ := v.Show(tail); out != want {
			t.Errorf("what ends in %q shows %q", piece, out)
		}
	}
}
