package archtest

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// module is the module path; a package's name here is its path below it.
const module = "paddock"

// pkg is what `go list -json` says of a package.
type pkg struct {
	ImportPath   string
	Dir          string
	Name         string
	Standard     bool
	Module       *struct{ Path string }
	GoFiles      []string
	TestGoFiles  []string
	XTestGoFiles []string
	Imports      []string
	TestImports  []string
	XTestImports []string
}

// path is the package's folder in the repository; "" for packages that are not
// ours.
func (p pkg) path() string { return local(p.ImportPath) }

func local(importPath string) string {
	rest, ok := strings.CutPrefix(importPath, module+"/")
	if !ok {
		return ""
	}
	return rest
}

// files lists the package's files for this platform; tests says which kind.
func (p pkg) files(tests bool) []string {
	names := p.GoFiles
	if tests {
		names = append(append([]string{}, p.TestGoFiles...), p.XTestGoFiles...)
	}
	paths := make([]string, len(names))
	for i, name := range names {
		paths[i] = filepath.Join(p.Dir, name)
	}
	return paths
}

// root is the repository's folder.
func root(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		t.Fatalf("go list -m: %v", err)
	}
	return strings.TrimSpace(string(out))
}

func goList(t *testing.T, args ...string) []pkg {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-e", "-json"}, args...)...)
	cmd.Dir = root(t)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list %v: %v", args, err)
	}
	var all []pkg
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("decode go list: %v", err)
		}
		all = append(all, p)
	}
}

var ourPackages struct {
	once sync.Once
	all  []pkg
}

// ours lists the packages of this repository.
func ours(t *testing.T) []pkg {
	t.Helper()
	ourPackages.once.Do(func() { ourPackages.all = goList(t, "./...") })
	return ourPackages.all
}
