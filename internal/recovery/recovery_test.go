package recovery

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"paddock/internal/id"
)

func mustOpen(t *testing.T, root string) *Points {
	t.Helper()
	p, err := Open(root)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// keep makes a point with one file.
func keep(t *testing.T, p *Points, sid id.Session, text string, at time.Time) Point {
	t.Helper()
	d, err := p.Begin(sid)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(d.Folder(), "pages"), text)
	point, err := d.Keep(t.Context(), at, "runtime")
	if err != nil {
		t.Fatal(err)
	}
	return point
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func wantFile(t *testing.T, point Point, text string) {
	t.Helper()
	if b, err := os.ReadFile(filepath.Join(point.Folder, "pages")); err != nil || string(b) != text {
		t.Errorf("the point holds %q, %v; want %q", b, err, text)
	}
}

func names(t *testing.T, folder string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func TestTheNewestPointIsKept(t *testing.T) {
	root, sid, other := t.TempDir(), id.New[id.Session](), id.New[id.Session]()
	p := mustOpen(t, root)
	if _, err := p.Find(t.Context(), sid); !errors.Is(err, ErrNone) {
		t.Errorf("find without a point: %v", err)
	}
	at := time.Date(2026, 12, 1, 1, 2, 3, 4000, time.UTC)
	keep(t, p, sid, "one", at)
	keep(t, p, other, "of another", at)
	keep(t, p, sid, "two", at.Add(time.Minute))
	for range 2 { // once more after a restart
		point, err := p.Find(t.Context(), sid)
		if err != nil {
			t.Fatal(err)
		}
		wantFile(t, point, "two")
		if !point.At.Equal(at.Add(time.Minute)) || point.Bytes != 3 {
			t.Errorf("point %+v", point)
		}
		if known, ok := p.Newest(sid); !ok || known != point {
			t.Errorf("known is %+v, %v; want %+v", known, ok, point)
		}
		if left := names(t, p.of(sid)); len(left) != 1 {
			t.Errorf("there are %v, want the newest alone", left)
		}
		p = mustOpen(t, root)
	}
	if err := p.Remove(sid); err != nil {
		t.Fatal(err)
	}
	if _, ok := p.Newest(sid); ok {
		t.Error("a removed point is known")
	}
	if left, err := p.Sessions(); err != nil || len(left) != 1 || left[0] != other {
		t.Errorf("sessions with points: %v, %v", left, err)
	}
}

// A server that dies while it makes a point leaves the one before.
func TestUnfinishedPointsAreNone(t *testing.T) {
	root, sid := t.TempDir(), id.New[id.Session]()
	p := mustOpen(t, root)
	keep(t, p, sid, "whole", time.Now())
	d, err := p.Begin(sid)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(d.Folder(), "pages"), "half")
	p = mustOpen(t, root)
	point, err := p.Find(t.Context(), sid)
	if err != nil {
		t.Fatal(err)
	}
	wantFile(t, point, "whole")
	if left := names(t, p.of(sid)); len(left) != 1 {
		t.Errorf("there are %v", left)
	}
	if d, err = p.Begin(sid); err == nil {
		err = d.Drop()
	}
	if left := names(t, p.of(sid)); err != nil || len(left) != 1 {
		t.Errorf("after a dropped draft there are %v, %v", left, err)
	}
}

// Whatever happens to a point's bytes, it is refused; an older good one, left
// where the removal did not come to it, is used.
func TestDamagedPointsAreRefused(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, folder string){
		"a changed byte": func(t *testing.T, folder string) { write(t, filepath.Join(folder, "pages"), "twO") },
		"a torn file":    func(t *testing.T, folder string) { write(t, filepath.Join(folder, "pages"), "tw") },
		"a lost file":    func(t *testing.T, folder string) { _ = os.Remove(filepath.Join(folder, "pages")) },
		"a lost manifest": func(t *testing.T, folder string) {
			_ = os.Remove(filepath.Join(folder, manifestName))
		},
		"a newer manifest": func(t *testing.T, folder string) {
			write(t, filepath.Join(folder, manifestName), `{"version":99}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			root, sid := t.TempDir(), id.New[id.Session]()
			p := mustOpen(t, root)
			point := keep(t, p, sid, "two", time.Now())
			older := filepath.Join(p.of(sid), "000000")
			if err := os.CopyFS(older, os.DirFS(point.Folder)); err != nil {
				t.Fatal(err)
			}
			damage(t, point.Folder)
			found, err := p.Find(t.Context(), sid)
			if err != nil || found.Folder != older {
				t.Errorf("found %+v, %v; want the older one", found, err)
			}
			damage(t, older)
			if found, err = p.Find(t.Context(), sid); err == nil || errors.Is(err, ErrNone) {
				t.Errorf("found %+v, %v; want what is wrong", found, err)
			}
		})
	}
}
