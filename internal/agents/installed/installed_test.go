package installed

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"paddock/internal/agents"
)

// withNPM puts a program of this text before everything else in the PATH.
func withNPM(t *testing.T, text string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "npm"), []byte("#!/bin/sh\nwhile [ $# -gt 1 ]; do [ \"$1\" = --prefix ] && dir=$2; shift; done\nversion=${1##*@}\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

const gemini = `
at=$dir/node_modules/@google/gemini-cli
umask 077
mkdir -p $at/bundle
echo "{\"version\":\"${version#latest}\"}" >$at/package.json
[ $version = latest ] && echo '{"version":"9.0.0"}' >$at/package.json
echo hello >$at/bundle/gemini.js
`

func quiet(string) {}

func agent(t *testing.T, name string) agents.Agent {
	t.Helper()
	a, ok := agents.Find(name)
	if !ok {
		t.Fatal(name)
	}
	return a
}

func TestInstall(t *testing.T) {
	withNPM(t, gemini)
	folder, a := At(filepath.Join(t.TempDir(), "agents")), agent(t, "gemini")
	if list, err := folder.List(); err != nil || len(list) != 0 {
		t.Fatal(list, err)
	}
	for _, c := range []struct{ version, want string }{{"", a.Version}, {"1.0.0", "1.0.0"}, {"latest", "9.0.0"}, {a.Version, a.Version}} {
		got, err := folder.Install(t.Context(), a, c.version, quiet)
		if err != nil || got != c.want || folder.Current("gemini") != c.want {
			t.Fatalf("%q: %q %v, current is %q", c.version, got, err, folder.Current("gemini"))
		}
	}
	list, err := folder.List()
	if want := (Agent{"gemini", "9.0.0", false}); err != nil || len(list) != 3 || list[0] != want {
		t.Fatal(list, err)
	}
	dir := filepath.Join(folder.Dir(), "gemini", "9.0.0")
	if text, err := os.ReadFile(filepath.Join(dir, "paddock", "settings.json")); err != nil || !strings.Contains(string(text), agents.Mount+"/gemini/9.0.0/paddock/policy.toml") {
		t.Errorf("%s %v", text, err)
	}
	for name, want := range map[string]os.FileMode{"": 0o755, "bin/gemini": 0o755, "node_modules/@google/gemini-cli/package.json": 0o644} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v %v", name, info.Mode(), err)
		}
	}
	left, _ := filepath.Glob(filepath.Join(folder.Dir(), ".new-*"))
	if len(left) != 0 {
		t.Error(left)
	}

	// Removing the current one, the newest of the others follows.
	if err := folder.Remove("gemini", a.Version); err != nil || folder.Current("gemini") != "9.0.0" {
		t.Errorf("%v, current is %q", err, folder.Current("gemini"))
	}
	for _, v := range []string{"9.0.0", "1.0.0"} {
		if err := folder.Remove("gemini", v); err != nil {
			t.Error(err)
		}
	}
	if err := folder.Remove("gemini", "1.0.0"); !errors.Is(err, os.ErrNotExist) || folder.Current("gemini") != "" {
		t.Errorf("%v, current is %q", err, folder.Current("gemini"))
	}
}

// An install that is broken off leaves nothing that counts, and the next removes
// what it left.
func TestInstallBrokenOff(t *testing.T) {
	withNPM(t, "mkdir -p $dir/node_modules; echo $$ >$dir/../pid; exec sleep 1000")
	folder := At(t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := folder.Install(ctx, agent(t, "gemini"), "", func(text string) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	stray := filepath.Join(folder.Dir(), ".new-stray")
	if err := os.Mkdir(stray, 0o700); err != nil {
		t.Fatal(err)
	}
	withNPM(t, gemini)
	if _, err := folder.Install(t.Context(), agent(t, "gemini"), "", quiet); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(folder.Dir())
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := []string{".lock", "gemini", "pid"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("%v %v", names, err)
	}
}

// Two who install the same at a time both have it in the end.
func TestInstallTwice(t *testing.T) {
	withNPM(t, gemini)
	dir, errs := t.TempDir(), make(chan error)
	for range 2 {
		go func() {
			_, err := At(dir).Install(context.Background(), agents.Agent{Name: "gemini", Package: "@google/gemini-cli", Version: "1.0.0", Program: []string{"node_modules/@google/*/bundle/gemini.js"}}, "", quiet)
			errs <- err
		}()
	}
	for range 2 {
		select {
		case err := <-errs:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(time.Minute):
			t.Fatal("they wait for each other")
		}
	}
	if !At(dir).Has("gemini", "1.0.0") {
		t.Error("it is not installed")
	}
}

func TestNoProgram(t *testing.T) {
	withNPM(t, gemini+"rm $at/bundle/gemini.js")
	folder := At(t.TempDir())
	if _, err := folder.Install(t.Context(), agent(t, "gemini"), "", quiet); err == nil || !strings.Contains(err.Error(), "has no program") {
		t.Error(err)
	}
	if folder.Current("gemini") != "" {
		t.Error("it counts as installed")
	}
}

func TestNoNPM(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := At(t.TempDir()).Install(t.Context(), agent(t, "codex"), "", quiet); err == nil || !strings.Contains(err.Error(), "npm is missing") {
		t.Error(err)
	}
}
