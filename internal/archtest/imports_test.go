package archtest

import (
	"slices"
	"strings"
	"testing"
)

// layerOf gives the layer of a package: its own line in the table, else that of
// the nearest folder above it.
func layerOf(path string) (int, bool) {
	for {
		if n, ok := layers[path]; ok {
			return n, true
		}
		cut := strings.LastIndexByte(path, '/')
		if cut < 0 {
			return 0, false
		}
		path = path[:cut]
	}
}

func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+"/")
}

// family says whether one of two folders contains the other.
func family(a, b string) bool { return within(a, b) || within(b, a) }

// sameHouse says whether two packages of one layer stand under the same line of
// the table, as guest/adapter/acp and guest/proc do.
func sameHouse(a, b string) bool {
	for line := range layers {
		if within(a, line) && within(b, line) {
			return true
		}
	}
	return false
}

func TestEveryPackageHasALayer(t *testing.T) {
	for _, p := range ours(t) {
		if _, ok := layerOf(p.path()); !ok {
			t.Errorf("%s has no layer: add it to the table in internal/archtest/layers_test.go and to docs/ARCHITECTURE.md", p.path())
		}
	}
}

func TestImportsPointDown(t *testing.T) {
	for _, p := range ours(t) {
		from := p.path()
		layer, ok := layerOf(from)
		if !ok {
			continue // said by TestEveryPackageHasALayer
		}
		for _, imported := range p.Imports {
			to := local(imported)
			below, ok := layerOf(to)
			if to == "" || !ok || below < layer || below == layer && (family(from, to) || sameHouse(from, to)) {
				continue
			}
			t.Errorf("%s (layer %d) imports %s (layer %d): imports point to lower layers only", from, layer, to, below)
		}
	}
}

// Tests may also use siblings (the engine is tested with the real store) and
// what is made for tests, but nothing else above.
func TestTestsDoNotReachUp(t *testing.T) {
	for _, p := range ours(t) {
		layer, _ := layerOf(p.path())
		for _, imported := range slices.Concat(p.TestImports, p.XTestImports) {
			to := local(imported)
			if above, ok := layerOf(to); to != "" && ok && above > layer && !slices.Contains(forTests, to) {
				t.Errorf("a test of %s (layer %d) imports %s (layer %d)", p.path(), layer, to, above)
			}
		}
	}
}

func TestEndsOfPortsAreNamedInOnePlace(t *testing.T) {
	for _, p := range ours(t) {
		for _, imported := range p.Imports {
			to := local(imported)
			for end, allowed := range only {
				if !within(to, end) || within(p.path(), end) {
					continue
				}
				if !slices.ContainsFunc(allowed, func(a string) bool { return within(p.path(), a) }) {
					t.Errorf("%s imports %s: only %s may", p.path(), to, strings.Join(allowed, ", "))
				}
			}
		}
	}
}

func TestClientsKnowOnlyThePublicAPI(t *testing.T) {
	for _, p := range ours(t) {
		for who, allowed := range narrow {
			if !within(p.path(), who) {
				continue
			}
			for _, imported := range p.Imports {
				to := local(imported)
				below, _ := layerOf(to)
				known := slices.ContainsFunc(allowed, func(a string) bool { return within(to, a) })
				if to != "" && below > 0 && !known && !within(to, who) {
					t.Errorf("%s imports %s: it may know %v and layer 0 only", p.path(), to, allowed)
				}
			}
		}
	}
}

func TestGuestIsSmall(t *testing.T) {
	var programs []string
	for _, p := range ours(t) {
		if slices.Contains(guestPrograms, p.path()) {
			programs = append(programs, "./"+p.path())
		}
	}
	if len(programs) != len(guestPrograms) {
		t.Fatalf("found %v of %v", programs, guestPrograms)
	}
	for _, p := range goList(t, append([]string{"-deps"}, programs...)...) {
		if p.Standard || strings.HasPrefix(p.ImportPath, "vendor/") || slices.Contains(guestPrograms, p.path()) {
			continue
		}
		if path := p.path(); path != "" {
			if !slices.ContainsFunc(guestPackages, func(a string) bool { return within(path, a) }) {
				t.Errorf("the programs inside a sandbox contain %s; guestPackages does not allow it", path)
			}
			continue
		}
		if p.Module == nil || !slices.Contains(guestModules, p.Module.Path) {
			t.Errorf("the programs inside a sandbox contain %s; guestModules does not allow its module", p.ImportPath)
		}
	}
}
