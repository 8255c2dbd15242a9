package clientcontext

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"testing"
)

func places(t *testing.T, root bool) Places {
	dir := t.TempDir()
	return Places{
		System: filepath.Join(dir, "etc"), Person: filepath.Join(dir, "home", FileName),
		Root: root, DataDir: filepath.Join(dir, "data"),
	}
}

var sample = Context{URL: "http://127.0.0.1:9", Token: "t0ken"}

func TestPublishedContextIsFound(t *testing.T) {
	for name, root := range map[string]bool{"root": true, "person": false} {
		t.Run(name, func(t *testing.T) {
			p := places(t, root)
			if c, from, err := p.Find(); err != nil || c != (Context{URL: DefaultURL}) || from != "the default" {
				t.Fatalf("before any server: %+v, %v", c, err)
			}
			file, err := p.Publish(p.DataDir, sample)
			if err != nil || file != "" {
				t.Fatalf("publish: %q, %v", file, err)
			}
			if c, from, err := p.Find(); err != nil || c != sample || (from != p.System && from != p.Person) {
				t.Fatalf("found %+v in %s, %v", c, from, err)
			}
		})
	}
}

func TestOwnDataFolderIsNamed(t *testing.T) {
	p := places(t, true)
	dir := filepath.Join(t.TempDir(), "mine")
	file, err := p.Publish(dir, sample)
	if err != nil || file != filepath.Join(dir, FileName) {
		t.Fatalf("publish: %q, %v", file, err)
	}
	if c, err := Read(file); err != nil || c != sample {
		t.Fatalf("read %+v, %v", c, err)
	}
	if _, err := os.Stat(p.System); !os.IsNotExist(err) {
		t.Fatalf("the machine's context was touched: %v", err)
	}
}

// What a server wrote is told from what a person did, at each of its places.
func TestKeptByServer(t *testing.T) {
	is := func(path string, want bool) {
		t.Helper()
		if got, err := KeptByServer(path); err != nil || got != want {
			t.Errorf("%s is a server's: %v, %v; want %v", path, got, err, want)
		}
	}
	p := places(t, false)
	is(p.Person, false) // absent
	if _, err := p.Publish(p.DataDir, sample); err != nil {
		t.Fatal(err)
	}
	is(p.Person, true)
	is(filepath.Join(p.DataDir, FileName), true)
	if err := Write(p.Person, sample); err != nil {
		t.Fatal(err)
	}
	is(p.Person, false)
	if err := os.WriteFile(p.Person, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	is(p.Person, false) // damaged
}

func TestSecretsAreClosed(t *testing.T) {
	p := places(t, true)
	if _, err := p.Publish(p.DataDir, sample); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(p.DataDir, FileName), filepath.Join(p.System, "token")} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if others := info.Mode().Perm() & 0o007; others != 0 {
			t.Errorf("%s is open to others: %v", path, info.Mode())
		}
	}
	for _, dir := range []string{p.DataDir, p.System} {
		left, err := filepath.Glob(filepath.Join(dir, ".*"))
		if err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	}
}

func TestReadSaysWhatIsWrong(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	if _, err := Read(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("absent: %v", err)
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err == nil {
		t.Error("damaged file was read")
	}
}

func TestURLOf(t *testing.T) {
	for in, want := range map[string]string{
		"127.0.0.1:80": "http://127.0.0.1:80", "0.0.0.0:81": "http://127.0.0.1:81",
		"[::]:82": "http://127.0.0.1:82", "[::1]:83": "http://[::1]:83",
	} {
		addr, err := net.ResolveTCPAddr("tcp", in)
		if err != nil {
			t.Fatal(err)
		}
		if got := URLOf(addr); got != want {
			t.Errorf("URLOf(%s) = %s, want %s", in, got, want)
		}
	}
}
