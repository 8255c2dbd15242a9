package files

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"paddock/internal/fault"
)

// tree makes a workspace in which every kind of entry occurs, beside a secret
// that nobody may reach.
func tree(t *testing.T) Workspace {
	t.Helper()
	base := t.TempDir()
	root := filepath.Join(base, "ws")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(filepath.Join(root, "a/b"), 0o755))
	must(os.WriteFile(filepath.Join(base, "secret"), []byte("secret"), 0o644))
	must(os.WriteFile(filepath.Join(root, "a/f"), []byte("hello"), 0o640))
	must(os.Symlink("a/f", filepath.Join(root, "inside")))
	must(os.Symlink("../secret", filepath.Join(root, "out")))
	must(os.Symlink(filepath.Join(base, "secret"), filepath.Join(root, "out-abs")))
	must(os.Symlink("..", filepath.Join(root, "updir")))
	must(os.Symlink("loop", filepath.Join(root, "loop")))
	must(os.Symlink("/proc/self/root", filepath.Join(root, "magic")))
	must(unix.Mkfifo(filepath.Join(root, "fifo"), 0o644))
	return Workspace{root}
}

func TestRead(t *testing.T) {
	w := tree(t)
	for name, want := range map[string]fault.Code{
		"a/f":                      "",
		"./a//f":                   "",
		w.Root + "/a/f":            "",
		w.Root + "//a/f":           "",
		"inside":                   "",
		"a/../inside":              "",
		"missing":                  fault.NotFound,
		"a/f/x":                    fault.NotFound,
		"a":                        fault.BadRequest,
		"":                         fault.BadRequest,
		"fifo":                     fault.BadRequest,
		"a\x00f":                   fault.BadRequest,
		"../secret":                fault.Forbidden,
		"a/../../secret":           fault.Forbidden,
		w.Root + "/../ws/a/f":      fault.Forbidden, // out and in again
		w.Root + "/../secret":      fault.Forbidden,
		w.Root + "x":               fault.Forbidden,
		"/etc/passwd":              fault.Forbidden,
		"out":                      fault.Forbidden,
		"out-abs":                  fault.Forbidden,
		"updir/secret":             fault.Forbidden,
		"magic/etc/passwd":         fault.Forbidden,
		"loop":                     fault.Forbidden,
		strings.Repeat("x/", 5000): fault.BadRequest,
	} {
		info, r, err := w.Read(name, 0, -1)
		if want != "" {
			if !fault.Is(err, want) {
				t.Errorf("%.60q: %v, want %s", name, err, want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		b, err := io.ReadAll(r)
		r.Close()
		if err != nil || string(b) != "hello" || info.Size != 5 || info.Mode != 0o640 || info.Type != "file" {
			t.Errorf("%q: %q %+v %v", name, b, info, err)
		}
	}
	if _, _, err := w.Read("updir/secret", 0, -1); !strings.Contains(err.Error(), `"updir" leads out`) {
		t.Errorf("the entry is not named: %v", err)
	}
}

func TestReadRange(t *testing.T) {
	w := tree(t)
	for _, c := range []struct {
		offset, length int64
		want           string
	}{{0, 2, "he"}, {1, 3, "ell"}, {3, -1, "lo"}, {3, 99, "lo"}, {5, -1, ""}, {99, -1, ""}, {0, 0, ""}} {
		_, r, err := w.Read("a/f", c.offset, c.length)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(r); err != nil || string(b) != c.want {
			t.Errorf("%d+%d: %q %v", c.offset, c.length, b, err)
		}
		r.Close()
	}
	if _, _, err := w.Read("a/f", -1, 1); !fault.Is(err, fault.BadRequest) {
		t.Error(err)
	}
}

func TestList(t *testing.T) {
	w := tree(t)
	got, err := w.List("")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, f := range got {
		lines = append(lines, strings.TrimSpace(f.Path+" "+f.Type+" "+f.Target))
	}
	want := "a dir\nfifo other\ninside symlink a/f\nloop symlink loop\nmagic symlink /proc/self/root\nout symlink ../secret\n" +
		"out-abs symlink " + filepath.Dir(w.Root) + "/secret\nupdir symlink .."
	if s := strings.Join(lines, "\n"); s != want {
		t.Errorf("got\n%s", s)
	}
	sub, err := w.List(w.Root + "/a")
	if err != nil || len(sub) != 2 || sub[0].Path != "a/b" || sub[1].Path != "a/f" || time.Since(sub[1].ModTime) > time.Hour {
		t.Errorf("%+v %v", sub, err)
	}
	for name, want := range map[string]fault.Code{
		"a/f": fault.BadRequest, "nope": fault.NotFound, "updir": fault.Forbidden, "..": fault.Forbidden, "/": fault.Forbidden, "fifo": fault.BadRequest,
	} {
		if _, err := w.List(name); !fault.Is(err, want) {
			t.Errorf("%q: %v, want %s", name, err, want)
		}
	}
}

// Whatever path is asked for, what is read is never from outside.
func TestNothingLeadsOut(t *testing.T) {
	w := tree(t)
	part := rapid.SampledFrom([]string{"..", ".", "a", "b", "f", "out", "updir", "magic", "secret", "inside", "", w.Root})
	rapid.Check(t, func(t *rapid.T) {
		name := strings.Join(rapid.SliceOfN(part, 1, 8).Draw(t, "parts"), "/")
		_, r, err := w.Read(name, 0, -1)
		if err != nil {
			var f *fault.Error
			if !errors.As(err, &f) || f.Code == fault.Internal {
				t.Fatalf("%q: %v", name, err)
			}
			return
		}
		defer r.Close()
		if b, _ := io.ReadAll(r); string(b) != "hello" {
			t.Fatalf("%q gave %q", name, b)
		}
	})
}
