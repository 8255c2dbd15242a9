package vault

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func create(t *testing.T) (*Vault, string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secrets.key")
	v, err := Create(file)
	if err != nil {
		t.Fatal(err)
	}
	return v, file
}

func TestSeal(t *testing.T) {
	v, file := create(t)
	sealed, err := v.Seal("env_1", []byte("s3cret!"))
	if err != nil || bytes.Contains(sealed, []byte("s3cret!")) {
		t.Fatalf("%q, %v", sealed, err)
	}
	if twice, _ := v.Seal("env_1", []byte("s3cret!")); bytes.Equal(sealed, twice) {
		t.Error("two texts that are the same can be seen to be")
	}
	again, err := Open(file)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := again.Unseal("env_1", sealed); err != nil || string(text) != "s3cret!" {
		t.Errorf("%q, %v", text, err)
	}
	if text, err := again.Unseal("env_2", sealed); err == nil {
		t.Errorf("another record's secret is %q", text)
	}
	other, _ := create(t)
	if text, err := other.Unseal("env_1", sealed); err == nil {
		t.Errorf("under another key it is %q", text)
	}
	sealed[len(sealed)/2] ^= 1
	if text, err := again.Unseal("env_1", sealed); err == nil {
		t.Errorf("damaged it is %q", text)
	}
}

func TestMark(t *testing.T) {
	v, file := create(t)
	mark := func(v *Vault, texts ...string) string {
		t.Helper()
		m := v.Mark(texts...)
		if len(m) != 64 {
			t.Fatal(m)
		}
		return m
	}
	again, _ := Open(file)
	other, _ := create(t)
	seen := map[string]bool{}
	for _, m := range []string{mark(v, "ab", "c"), mark(v, "a", "bc"), mark(v, "abc"), mark(other, "ab", "c")} {
		if seen[m] {
			t.Error("two marks are the same")
		}
		seen[m] = true
	}
	if !seen[mark(again, "ab", "c")] {
		t.Error("a mark is another after a restart")
	}
}

func TestPlaceholder(t *testing.T) {
	v, file := create(t)
	first := v.Placeholder("env_1", "A")
	if !regexp.MustCompile(`^paddock-secret-[a-z2-7]{32}$`).MatchString(first) {
		t.Errorf("%q", first)
	}
	again, _ := Open(file)
	if same := again.Placeholder("env_1", "A"); same != first {
		t.Errorf("after a restart it is %q, not %q", same, first)
	}
	for _, of := range [][2]string{{"env_1", "B"}, {"env_2", "A"}} {
		if other := v.Placeholder(of[0], of[1]); other == first {
			t.Errorf("%q stands for two", first)
		}
	}
}

func TestFile(t *testing.T) {
	_, file := create(t)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if at, err := os.Stat(file); err != nil || at.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", at.Mode(), err)
	}
	if _, err := Create(file); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a key is made over another: %v", err)
	}
	if got, _ := os.ReadFile(file); !bytes.Equal(got, whole) {
		t.Error("the key has changed")
	}
	if left, _ := os.ReadDir(filepath.Dir(file)); len(left) != 1 {
		t.Errorf("files are left: %v", left)
	}
	if _, err := Open(file + "x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no key: %v", err)
	}
	for _, text := range [][]byte{nil, []byte("{}"), []byte("key"), whole[:len(whole)/2]} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(file); err == nil || !strings.Contains(err.Error(), "put the file back") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if err := errors.Join(os.WriteFile(file, whole, 0o600), os.Chmod(file, 0o640)); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(file); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("others may read it: %v", err)
	}
}
