package broker

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"

	"paddock/internal/sandbox"
)

func redacting(secrets ...sandbox.Brokered) (p pairs) {
	for _, s := range secrets {
		p.secret(s)
	}
	return p
}

// pieceReader gives its text in pieces.
type pieceReader struct {
	text string
	size int
}

func (r *pieceReader) Read(b []byte) (int, error) {
	if r.text == "" {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), r.size)], r.text)
	r.text = r.text[n:]
	return n, nil
}

// TestRedact: wherever the pieces of an answer end, the value is not in it, and
// everything else is.
func TestRedact(t *testing.T) {
	p := redacting(theSecret, sandbox.Brokered{Placeholder: "paddock-other-xxxxxxxx", Value: "aaaaaaaab"})
	encoded, _ := json.Marshal(map[string]string{"x": value})
	for _, c := range []struct{ in, out string }{
		{"", ""},
		{value, placeholder},
		{"a" + value + value + "b", "a" + placeholder + placeholder + "b"},
		{value[:len(value)-1], value[:len(value)-1]},
		{value[:20] + value, value[:20] + placeholder},
		{"aaaaaaaaaaaaaab", "aaaaaapaddock-other-xxxxxxxx"},
		{"data: hello\n\n", "data: hello\n\n"},
		{"?k=" + url.QueryEscape(value), "?k=" + placeholder},
		{string(encoded), `{"x":"` + placeholder + `"}`},
		{base64.StdEncoding.EncodeToString([]byte("aaaaaaaab")), base64.StdEncoding.EncodeToString([]byte("paddock-o"))},
	} {
		for size := 1; size < 40; size++ {
			got, err := io.ReadAll(p.body(io.NopCloser(&pieceReader{strings.Repeat("x", 3) + c.in + "y", size}), func() {}))
			if err != nil || string(got) != "xxx"+c.out+"y" {
				t.Fatalf("%q in pieces of %d becomes %q, %v", c.in, size, got, err)
			}
		}
	}
}

// TestRedactWithin: base64 of something longer does not give the value away.
func TestRedactWithin(t *testing.T) {
	p := redacting(theSecret)
	for before := range 7 {
		for after := range 4 {
			for _, e := range []*base64.Encoding{base64.StdEncoding, base64.RawURLEncoding} {
				text := e.EncodeToString([]byte(strings.Repeat("u", before) + value + strings.Repeat(":", after)))
				got := p.text(text)
				decoded, err := e.DecodeString(got)
				if err != nil || len(got) != len(text) && before+after > 0 || bytes.Contains(decoded, []byte(value[2:len(value)-2])) {
					t.Errorf("%d before, %d after: %s becomes %s: %q, %v", before, after, text, got, decoded, err)
				}
			}
		}
	}
}

// TestRedactAtOnce: what has come goes on; only what may be the beginning of a
// value waits.
func TestRedactAtOnce(t *testing.T) {
	from, to := io.Pipe()
	body := redacting(theSecret).body(from, func() {})
	defer body.Close()
	b := make([]byte, 1000)
	for _, c := range []struct{ in, out string }{
		{"data: 1\n\n", "data: 1\n\n"}, {"x" + value[:5], "x"}, {"!", value[:5] + "!"}, {"data: 2\n\n", "data: 2\n\n"},
	} {
		go func() { _, _ = io.WriteString(to, c.in) }()
		n, err := body.Read(b)
		if err != nil || string(b[:n]) != c.out {
			t.Fatalf("%q, %v; want %q", b[:n], err, c.out)
		}
	}
}

func TestRedactErrors(t *testing.T) {
	ended := false
	got, err := io.ReadAll(redacting(theSecret).body(io.NopCloser(iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader("ab")))), func() { ended = true }))
	if err != iotest.ErrTimeout || string(got) != "a" || ended {
		t.Errorf("%q, %v, ended %v", got, err, ended)
	}
}

func TestShortValuesStay(t *testing.T) {
	if p := redacting(sandbox.Brokered{Placeholder: placeholder, Value: "12345"}); len(p) != 0 {
		t.Errorf("%d texts are replaced for a value of 5 bytes", len(p))
	}
}

func BenchmarkRedact(b *testing.B) {
	for name, text := range map[string][]byte{"zeros": make([]byte, 1<<20), "text": bytes.Repeat([]byte("the quick brown fox jumps over the sleeping dog. "), 1<<20/49)} {
		b.Run(name, func(b *testing.B) {
			p := redacting(theSecret)
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, err := io.Copy(io.Discard, p.body(io.NopCloser(bytes.NewReader(text)), func() {})); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
