package gvisor

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"paddock/internal/sandbox"
)

func TestKernelFiles(t *testing.T) {
	dir := t.TempDir()
	file := func(text string) string {
		path := filepath.Join(dir, "f")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	padding := strings.Repeat("other 7\n", 2000) // more than one read
	for _, c := range []struct {
		text  string
		names []string
		want  int64
		fails bool
	}{
		{"a 1\nb 2\nab 4\n", []string{"a"}, 1, false},
		{"a 1\nb 2\nab 4", []string{"a", "ab"}, 5, false},
		{padding + "last 3\n", []string{"last"}, 3, false},
		{"a 1\n", []string{"absent"}, 0, false},
		{"", []string{"a"}, 0, false},
		{"a max\n", []string{"a"}, 0, true},
	} {
		got, err := readFields(file(c.text), c.names...)
		if got != c.want || (err != nil) != c.fails {
			t.Errorf("%v of %.20q is %d, %v", c.names, c.text, got, err)
		}
	}
	if n, err := readNumber(file(" 42\n")); n != 42 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := readNumber(file("max\n")); err == nil {
		t.Error("max is a number")
	}
	absent := filepath.Join(dir, "absent")
	if _, err := readNumber(absent); !errors.Is(err, sandbox.ErrGone) {
		t.Errorf("of a group that is gone: %v", err)
	}
	if _, err := readFields(absent, "a"); !errors.Is(err, sandbox.ErrGone) {
		t.Errorf("of a group that is gone: %v", err)
	}
}
