package archtest

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// maxLines is the longest a hand-written file may be.
const maxLines = 500

var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// eachFile parses the files of all packages and gives them to f.
func eachFile(t *testing.T, tests bool, f func(p pkg, path string, source []byte, file *ast.File, set *token.FileSet)) {
	t.Helper()
	for _, p := range ours(t) {
		for _, path := range p.files(tests) {
			source, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, source, parser.ParseComments)
			if err != nil {
				t.Errorf("parse: %v", err)
				continue
			}
			f(p, path, source, file, set)
		}
	}
}

func TestFilesAreShort(t *testing.T) {
	check := func(p pkg, path string, source []byte, _ *ast.File, _ *token.FileSet) {
		if n := bytes.Count(source, []byte("\n")); n > maxLines && !generated.Match(source) {
			t.Errorf("%s/%s has %d lines, at most %d are allowed: split it by idea", p.path(), filepath.Base(path), n, maxLines)
		}
	}
	eachFile(t, false, check)
	eachFile(t, true, check)
}

func TestOnePackageDoc(t *testing.T) {
	docs := map[string][]string{}
	eachFile(t, false, func(p pkg, path string, source []byte, file *ast.File, _ *token.FileSet) {
		if _, ok := docs[p.path()]; !ok {
			docs[p.path()] = nil
		}
		if file.Doc == nil || generated.Match(source) {
			return
		}
		docs[p.path()] = append(docs[p.path()], filepath.Base(path))
		if text := file.Doc.Text(); p.Name != "main" && !strings.HasPrefix(text, "Package "+p.Name+" ") {
			t.Errorf("%s: the package doc begins with %q, not with \"Package %s \"", p.path(), firstWords(text), p.Name)
		}
	})
	for path, files := range docs {
		if len(files) != 1 && !generatedOnly(t, path) {
			t.Errorf("%s has %d package docs %v, want one", path, len(files), files)
		}
	}
}

func firstWords(text string) string {
	return strings.Join(strings.Fields(text)[:min(3, len(strings.Fields(text)))], " ")
}

// generatedOnly says whether a package holds generated files only; those carry
// the generator's doc or none.
func generatedOnly(t *testing.T, path string) bool {
	only := true
	eachFile(t, false, func(p pkg, _ string, source []byte, _ *ast.File, _ *token.FileSet) {
		only = only && (p.path() != path || generated.Match(source))
	})
	return only
}

func TestNoInitOutsideMain(t *testing.T) {
	eachFile(t, false, func(p pkg, path string, source []byte, file *ast.File, _ *token.FileSet) {
		if p.Name == "main" || generated.Match(source) {
			return
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				t.Errorf("%s/%s has an init function: do it where it is called for", p.path(), filepath.Base(path))
			}
		}
	})
}

// Tests wait for what they want to see, never for time to pass. Conformance
// suites are tests, too.
func TestTestsDoNotSleep(t *testing.T) {
	check := func(p pkg, path string, _ []byte, file *ast.File, set *token.FileSet) {
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if sel, ok := call.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Sleep" {
				if x, ok := sel.X.(*ast.Ident); ok && x.Name == "time" {
					t.Errorf("%s/%s:%d sleeps: wait for the condition", p.path(), filepath.Base(path), set.Position(call.Pos()).Line)
				}
			}
			return true
		})
	}
	eachFile(t, true, check)
	eachFile(t, false, func(p pkg, path string, source []byte, file *ast.File, set *token.FileSet) {
		if strings.HasSuffix(p.Name, "test") || within(p.path(), "e2e") {
			check(p, path, source, file, set)
		}
	})
}

func TestRepositoryHasItsPapers(t *testing.T) {
	for name, must := range map[string]string{
		"CHANGELOG.md":         "## [Unreleased]",
		"README.md":            "make demo",
		"LICENSE":              "Apache License",
		"docs/ARCHITECTURE.md": "| layer |",
	} {
		b, err := os.ReadFile(filepath.Join(root(t), name))
		if err != nil {
			t.Error(err)
		} else if !bytes.Contains(b, []byte(must)) {
			t.Errorf("%s lacks %q", name, must)
		}
	}
}

// The table in docs/ARCHITECTURE.md names every package that exists.
func TestArchitecturePageIsComplete(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root(t), "docs", "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range ours(t) {
		line := p.path()
		for line != "" {
			if _, ok := layers[line]; ok {
				break
			}
			line = line[:max(0, strings.LastIndexByte(line, '/'))]
		}
		if line != "" && !bytes.Contains(page, []byte("`"+line+"`")) {
			t.Errorf("docs/ARCHITECTURE.md does not name `%s`", line)
		}
	}
}
