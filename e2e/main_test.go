// Package e2e drives the built program from outside, through its public API
// with a client that we did not write, and asserts from the host's own facts.
package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// program is the binary under test.
var program string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if os.Geteuid() != 0 {
		if strings.Contains(os.Getenv("PADDOCK_REQUIRE"), "sandbox") {
			fmt.Fprintln(os.Stderr, "PADDOCK_REQUIRE names sandbox, but these tests need root to make sandboxes")
			return 1
		}
		fmt.Fprintln(os.Stderr, "SKIP: black-box tests need root to make sandboxes; run them as root")
		return 0
	}
	dir, err := os.MkdirTemp("", "paddock-e2e-*")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program = os.Getenv("PADDOCK_BIN")
	if program == "" {
		program = filepath.Join(dir, "paddock")
		build := exec.Command("go", "build", "-o", program, "paddock/cmd/paddock")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build the program under test: %v\n%s", err, out)
			return 1
		}
	}
	return m.Run()
}
