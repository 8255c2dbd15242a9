package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// TestPageAndTable holds the table of docs/ARCHITECTURE.md, the one here and the
// folders together.
func TestPageAndTable(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root(t), "docs", "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	written := map[string]int{}
	name := regexp.MustCompile("`([^`]+)`")
	for _, row := range regexp.MustCompile(`(?m)^\| (\d) \| ([^|]+) \|`).FindAllStringSubmatch(string(page), -1) {
		layer, err := strconv.Atoi(row[1])
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range name.FindAllStringSubmatch(row[2], -1) {
			written[match[1]] = layer
		}
	}
	for pkg, layer := range layers {
		if at, ok := written[pkg]; !ok || at != layer {
			t.Errorf("docs/ARCHITECTURE.md does not have %s in layer %d", pkg, layer)
		}
		if _, err := os.Stat(filepath.Join(root(t), filepath.FromSlash(pkg))); err != nil {
			t.Errorf("there is no package %s any more: %v", pkg, err)
		}
	}
	for pkg := range written {
		if _, ok := layers[pkg]; !ok {
			t.Errorf("docs/ARCHITECTURE.md names %s, which has no layer here", pkg)
		}
	}
	for _, pkg := range guestPackages {
		if _, ok := layers[pkg]; !ok {
			t.Errorf("guestPackages names %s, which is no package", pkg)
		}
	}
}
