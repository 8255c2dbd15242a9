// Command testreport reads the output of `go test -json` and prints what a
// person wants to see: one line a package, everything a failed test said, every
// skipped test with its reason, and the sums. It exits 1 when anything failed.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

// record is one line of `go test -json`.
type record struct {
	Action      string
	Package     string
	ImportPath  string // of build output
	Test        string
	Output      string
	FailedBuild string
}

type report struct {
	out                     io.Writer
	said                    map[string][]string // what a running test has printed, by package and test
	passed, failed, skipped int
	broken                  bool // a package failed
	skips                   []string
}

func main() {
	r := report{out: os.Stdout, said: map[string][]string{}}
	if err := r.read(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "testreport: read test output:", err)
		os.Exit(1)
	}
	r.sums()
	if r.failed > 0 || r.broken {
		os.Exit(1)
	}
}

func (r *report) read(in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var rec record
		if json.Unmarshal(lines.Bytes(), &rec) != nil {
			fmt.Fprintln(r.out, lines.Text()) // not from a test: say it as it is
			continue
		}
		r.take(rec)
	}
	return lines.Err()
}

func (r *report) take(rec record) {
	key := rec.Package + " " + rec.Test
	switch rec.Action {
	case "build-output":
		fmt.Fprint(r.out, rec.Output)
	case "output":
		if rec.Test == "" {
			r.packageLine(rec.Package, rec.Output)
			return
		}
		if !strings.HasPrefix(rec.Output, "=== ") {
			r.said[key] = append(r.said[key], rec.Output)
		}
	case "pass":
		if rec.Test != "" {
			r.passed++
		}
		delete(r.said, key)
	case "skip":
		if rec.Test != "" {
			r.skip(rec.Package, rec.Test, reason(r.said[key]))
		}
		delete(r.said, key)
	case "fail":
		if rec.Test == "" {
			r.broken = true
			r.flush(rec.Package)
			return
		}
		r.failed++
		for _, s := range r.said[key] {
			fmt.Fprint(r.out, s)
		}
		delete(r.said, key)
	}
}

// packageLine prints what a package says of itself, without the chatter of -v.
// A line that begins with "SKIP: " is a package's word that it ran no test.
func (r *report) packageLine(pkg, s string) {
	if why, ok := strings.CutPrefix(s, "SKIP: "); ok {
		r.skip(pkg, "all", strings.TrimSpace(why))
		return
	}
	if s != "PASS\n" && s != "FAIL\n" && !strings.Contains(s, "[no test files]") {
		fmt.Fprint(r.out, s)
	}
}

// flush prints what tests said that never ended: their package died.
func (r *report) flush(pkg string) {
	for key, said := range r.said {
		if strings.HasPrefix(key, pkg+" ") {
			fmt.Fprint(r.out, strings.Join(said, ""))
			delete(r.said, key)
		}
	}
}

func (r *report) skip(pkg, test, why string) {
	r.skipped++
	r.skips = append(r.skips, strings.TrimPrefix(pkg, "paddock/")+" "+test+": "+why)
}

// reason is the last thing a skipped test said before its result line.
func reason(said []string) string {
	for i := len(said) - 1; i >= 0; i-- {
		if s := strings.TrimSpace(said[i]); s != "" && !strings.HasPrefix(s, "--- ") {
			return s
		}
	}
	return "no reason given"
}

func (r *report) sums() {
	for _, s := range r.skips {
		fmt.Fprintln(r.out, "skipped:", s)
	}
	fmt.Fprintf(r.out, "\n%d passed, %d failed, %d skipped\n", r.passed, r.failed, r.skipped)
}
