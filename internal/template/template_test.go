package template

import (
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"paddock/internal/sandbox"
)

// made is one file of a made-up system; content "→x" is a link to x, "/" a
// folder.
type made struct {
	path, content string
	mode          os.FileMode
}

var system = []made{
	{"bin", "→usr/bin", 0}, {"lib", "→usr/lib", 0},
	{"usr/bin/tool", "tool", 0o755},
	{"usr/bin/link", "→tool", 0},
	{"usr/bin/su", "su", 0o755 | os.ModeSetuid},
	{"usr/bin/wall", "wall", 0o755 | os.ModeSetgid},
	{"usr/share/doc/text", "text", 0o644},
	{"usr/share/staff", "/", 0o775 | os.ModeSetgid},
	{"usr/share/staff/file", "file", 0o644},
	{"usr/local/lib/secret", "canary", 0o600},
	{"usr/local/lib/group", "canary", 0o640},
	{"usr/local/closed/open", "canary", 0o644},
	{"usr/local/closed", "/", 0o700},
	{"usr/local/etc/conf", "canary", 0o644},
	{"usr/local/data/canary", "canary", 0o644},
	{"usr/src/linux", "canary", 0o644},
	{"usr/lib/modules/6.1/mod.ko", "canary", 0o644},
	{"usr/lib/lib.so", "lib", 0o644},
	{"etc/ssl/certs/ca.pem", "ca", 0o644},
	{"etc/ssl/private/key.pem", "canary", 0o644},
	{"etc/alternatives/awk", "→/usr/bin/tool", 0},
	{"etc/ld.so.cache", "cache", 0o644},
	{"etc/secret.conf", "canary", 0o644},
	{"etc/services", "ssh 22/tcp", 0o644},
	{"etc/passwd", "root:x:0:0:Ms Canary:/root:/bin/zsh\ndaemon:x:1:1:daemon:/usr/sbin:/bin/sh\ncanary:x:1001:1001:Canary:/home/canary:/bin/bash\n", 0o644},
	{"etc/group", "root:x:0:canary\ntape:x:26:canary\ncanary:x:1001:\n", 0o644},
	{"var/lib/dpkg/status", "dpkg", 0o644},
	{"var/lib/dpkg/lock", "", 0o640},
	{"var/lib/canary", "canary", 0o644},
	{"root/canary", "canary", 0o644}, {"home/canary/canary", "canary", 0o644}, {"tmp/canary", "canary", 0o644}, {"opt/canary", "canary", 0o644},
}

func makeSystem(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for _, m := range system {
		path := filepath.Join(root, m.path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		switch target, isLink := strings.CutPrefix(m.content, "→"); {
		case isLink:
			err = os.Symlink(target, path)
		case m.content == "/":
			if err = os.MkdirAll(path, 0o755); err == nil {
				err = os.Chmod(path, m.mode)
			}
		default:
			if err = os.WriteFile(path, []byte(m.content), 0o644); err == nil {
				err = os.Chmod(path, m.mode)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Mkfifo(filepath.Join(root, "usr/bin/fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	return root
}

func templates(t *testing.T, source, dir string) *Templates {
	t.Helper()
	made, err := New(Options{Dir: dir, Exclude: []string{"/usr/local/data"}, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	made.source = source
	t.Cleanup(func() { made.Close() })
	return made
}

func prepare(t *testing.T, made *Templates) sandbox.Root {
	t.Helper()
	root, err := made.Prepare(t.Context(), Host, nil)
	if err != nil {
		t.Fatalf("prepare: %v", err)
	}
	return root
}

// everything lists the paths below root, with the content of files.
func everything(t *testing.T, root string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, path)
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if info.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0 {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
		switch {
		case entry.Type().IsRegular():
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			found[name] = string(text)
		case entry.Type() == os.ModeSymlink:
			target, _ := os.Readlink(path)
			found[name] = "→" + target
		case entry.IsDir():
			found[name] = "/"
		default:
			t.Errorf("%s is a %v", name, entry.Type())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestHostShowsTheSystemAndNothingElse(t *testing.T) {
	source := makeSystem(t)
	root := prepare(t, templates(t, source, t.TempDir()))
	found := everything(t, root.Path)
	for path, want := range map[string]string{
		"bin": "→usr/bin", "lib": "→usr/lib", "usr/bin/tool": "tool", "usr/bin/link": "→tool", "usr/bin/su": "su", "usr/bin/wall": "wall",
		"usr/share/doc/text": "text", "usr/share/staff/file": "file", "usr/lib/lib.so": "lib", "etc/ssl/certs/ca.pem": "ca",
		"etc/alternatives/awk": "→/usr/bin/tool", "etc/ld.so.cache": "cache", "etc/services": "ssh 22/tcp", "var/lib/dpkg/status": "dpkg",
		"etc/machine-id": "→/run/paddock/machine-id", "run/paddock": "/", "opt/paddock/bin": "/", "opt/paddock/agents": "/",
		"workspace": "/", "home/agent": "/", "tmp/.X11-unix": "/", "var/tmp": "/",
	} {
		if found[path] != want {
			t.Errorf("%s is %q, want %q", path, found[path], want)
		}
	}
	for path, content := range found {
		if strings.Contains(path, "anary") || strings.Contains(content, "anary") {
			t.Errorf("%s shows a canary: %q", path, content)
		}
	}
	for _, path := range []string{"usr/bin/fifo", "usr/local/etc", "usr/src", "usr/lib/modules", "usr/local/closed", "var/lib/dpkg/lock", "usr/local/data"} {
		if content, ok := found[path]; ok {
			t.Errorf("%s is there: %q", path, content)
		}
	}
	if !strings.Contains(found["etc/passwd"], "daemon:x:1:1::/usr/sbin:/usr/sbin/nologin\n") || !strings.Contains(found["etc/passwd"], "agent:x:1000:1000::/home/agent:/bin/bash\n") {
		t.Errorf("passwd: %s", found["etc/passwd"])
	}
	if !strings.Contains(found["etc/group"], "tape:x:26:\n") {
		t.Errorf("group: %s", found["etc/group"])
	}
	sameFile(t, filepath.Join(source, "usr/bin/tool"), filepath.Join(root.Path, "usr/bin/tool"))
	if info, err := os.Stat(filepath.Join(source, "usr/bin/su")); err != nil || info.Mode()&os.ModeSetuid == 0 {
		t.Errorf("the host's own setuid file is now %v, %v", info.Mode(), err)
	}
	if len(root.Warnings) != 0 {
		t.Errorf("warnings %q", root.Warnings)
	}
}

func sameFile(t *testing.T, a, b string) {
	t.Helper()
	one, err := os.Stat(a)
	if err != nil {
		t.Fatal(err)
	}
	two, err := os.Stat(b)
	if err != nil {
		t.Fatal(err)
	}
	if !os.SameFile(one, two) {
		t.Errorf("%s is not a link to %s", b, a)
	}
}

func TestHostIsKeptWhileTheSystemStays(t *testing.T) {
	source, dir := makeSystem(t), t.TempDir()
	first := templates(t, source, dir)
	one := prepare(t, first)
	before, err := os.Stat(one.Path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "building-left-by-a-killed-server"), 0o755); err != nil {
		t.Fatal(err)
	}
	second := templates(t, source, dir)
	if two := prepare(t, second); two.Path != one.Path || two.Fingerprint != one.Fingerprint {
		t.Errorf("the same system gives %s and %s", one.Path, two.Path)
	}
	if after, err := os.Stat(one.Path); err != nil || !after.ModTime().Equal(before.ModTime()) || !os.SameFile(before, after) {
		t.Error("the farm was built again")
	}

	if err := os.WriteFile(filepath.Join(source, "usr/bin/new"), []byte("new"), 0o755); err != nil {
		t.Fatal(err)
	}
	third := templates(t, source, dir)
	three := prepare(t, third)
	if three.Path == one.Path || everything(t, three.Path)["usr/bin/new"] != "new" {
		t.Error("the changed system has the old farm")
	}
	if _, err := os.Stat(one.Path); err != nil {
		t.Errorf("a farm that servers use is gone: %v", err)
	}
	first.Close()
	second.Close()
	third.Close()
	prepare(t, templates(t, source, dir))
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{three.Path, three.Path + ".copied", three.Path + ".lock", filepath.Join(dir, "lock")}
	if !slices.Equal(names, want) {
		t.Errorf("the folder has %q, want %q", names, want)
	}
}

func TestPinnedAgainstReplacement(t *testing.T) {
	source := makeSystem(t)
	root := prepare(t, templates(t, source, t.TempDir()))
	tool := filepath.Join(source, "usr/bin/tool")
	if err := os.WriteFile(tool+".new", []byte("newer"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(tool+".new", tool); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(source, "usr/lib/lib.so")); err != nil {
		t.Fatal(err)
	}
	if found := everything(t, root.Path); found["usr/bin/tool"] != "tool" || found["usr/lib/lib.so"] != "lib" {
		t.Error("what is replaced on the host changes in the farm")
	}
}

func TestOtherFileSystemIsCopied(t *testing.T) {
	dir, err := os.MkdirTemp("/dev/shm", "paddock-template-")
	if err != nil {
		t.Skip("no second file system here:", err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	root := prepare(t, templates(t, makeSystem(t), dir))
	if found := everything(t, root.Path); found["usr/bin/tool"] != "tool" || found["usr/bin/link"] != "→tool" {
		t.Error("the copy is not whole")
	}
	if !slices.ContainsFunc(root.Warnings, func(w string) bool { return strings.Contains(w, "were copied") }) {
		t.Errorf("warnings %q, want that files were copied", root.Warnings)
	}
}

func TestUnknownTemplate(t *testing.T) {
	_, err := templates(t, makeSystem(t), t.TempDir()).Prepare(t.Context(), "gnome", nil)
	if err == nil || !strings.Contains(err.Error(), "host") {
		t.Errorf("%v, want the templates there are", err)
	}
}

// TestThisSystem builds the real one and says how long it took.
func TestThisSystem(t *testing.T) {
	if os.Geteuid() != 0 || testing.Short() {
		t.Skip("builds the template of this machine, as root")
	}
	dir := t.TempDir()
	began := time.Now()
	said := 0
	root, err := templates(t, "/", dir).Prepare(t.Context(), Host, func(string) { said++ })
	if err != nil {
		t.Fatalf("prepare: %v", err)
	}
	built := time.Since(began)
	began = time.Now()
	prepare(t, templates(t, "/", dir))
	t.Logf("built in %v, found again in %v, %d sentences of progress, warnings %q", built, time.Since(began), said, root.Warnings)
	err = filepath.WalkDir(root.Path, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if info, err := entry.Info(); err == nil && info.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
