package runtimes

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func program(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "paddock")
	if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func openSet(t *testing.T) *Set {
	t.Helper()
	s, err := Open(filepath.Join(t.TempDir(), "runtimes"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func keep(t *testing.T, s *Set, path string) Runtime {
	t.Helper()
	r, err := s.Keep(path, Manifest{Paddock: "v1", GVisor: "g1"}, map[string][]byte{"paddock-guest": []byte("guest")})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestKeptBuildIsFound(t *testing.T) {
	s := openSet(t)
	path := program(t, "one")
	kept := keep(t, s, path)
	again := keep(t, s, path)
	found, err := s.Find(kept.Digest)
	if err != nil || found != kept || again != kept || found.Manifest != (Manifest{Paddock: "v1", GVisor: "g1"}) {
		t.Fatalf("kept %+v, again %+v, found %+v, %v", kept, again, found, err)
	}
	if b, err := os.ReadFile(filepath.Join(found.Inside, "paddock-guest")); err != nil || string(b) != "guest" {
		t.Errorf("guest is %q, %v", b, err)
	}
	file, err := s.Program(found)
	if err != nil {
		t.Fatal(err)
	}
	a, _ := os.Stat(path)
	b, err := os.Stat(file)
	if err != nil || !os.SameFile(a, b) {
		t.Errorf("the program is no hard link: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(s.dir, ".new-*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// A program that was replaced while its server ran has no name to be linked by.
func TestProgramIsCopiedWhereItCannotBeLinked(t *testing.T) {
	s := openSet(t)
	kept := keep(t, s, "/proc/version") // another file system
	if _, err := s.Program(kept); err != nil {
		t.Error(err)
	}
}

func TestChangedProgramIsRefused(t *testing.T) {
	s := openSet(t)
	path := program(t, "one")
	kept := keep(t, s, path)
	if err := os.WriteFile(path, []byte("two"), 0o755); err != nil { // into the linked file
		t.Fatal(err)
	}
	if _, err := s.Program(kept); err == nil || !strings.Contains(err.Error(), "changed") {
		t.Errorf("got %v", err)
	}
}

func TestUnknownRuntimes(t *testing.T) {
	s := openSet(t)
	for _, digest := range []string{"", "..", "test", strings.Repeat("0", 64)} {
		if _, err := s.Find(digest); !errors.Is(err, ErrUnknown) {
			t.Errorf("%q: %v", digest, err)
		}
	}
}

// Builds older than the manifest are driven as if they were ours.
func TestOldLayout(t *testing.T) {
	s := openSet(t)
	digest := strings.Repeat("a", 64)
	if err := os.Mkdir(filepath.Join(s.dir, digest), 0o755); err != nil {
		t.Fatal(err)
	}
	r, err := s.Find(digest)
	if err != nil || r.GVisor != "" || r.Inside != filepath.Join(s.dir, digest) {
		t.Fatalf("%+v, %v", r, err)
	}
	if _, err := s.Program(r); !errors.Is(err, ErrUnknown) {
		t.Errorf("program: %v", err)
	}
}

func TestPruneKeepsWhatIsInUse(t *testing.T) {
	s := openSet(t)
	first, second, third := keep(t, s, program(t, "1")), keep(t, s, program(t, "2")), keep(t, s, program(t, "3"))
	torn := filepath.Join(s.dir, ".new-1")
	if err := os.Mkdir(torn, 0o700); err != nil {
		t.Fatal(err)
	}
	removed, err := s.Prune(map[string]bool{first.Digest: true, third.Digest: true})
	if err != nil || !slices.Equal(removed, []string{second.Digest}) {
		t.Fatalf("removed %v, %v", removed, err)
	}
	if _, err := os.Stat(torn); !os.IsNotExist(err) {
		t.Error("a torn one was left")
	}
	for _, r := range []Runtime{first, third} {
		if _, err := s.Find(r.Digest); err != nil {
			t.Error(err)
		}
	}
}
