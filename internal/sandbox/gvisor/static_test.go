package gvisor

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// runStatic compiles these tests without cgo and runs them with the same
// arguments, so that a plain `go test` works where Go finds a C compiler, too.
func runStatic() (code int) {
	folder, err := os.MkdirTemp("", "paddock-gvisor-static-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	tests := filepath.Join(folder, "gvisor.test")
	build := exec.Command("go", "test", "-c", "-o", tests)
	if mode := testing.CoverMode(); mode != "" {
		build.Args = append(build.Args, "-covermode", mode)
	}
	build.Args = append(build.Args, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "compile the tests without cgo:", err)
		return 1
	}
	run := exec.Command(tests, os.Args[1:]...)
	run.Stdin, run.Stdout, run.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = run.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit) && exit.Exited():
		return exit.ExitCode()
	default:
		fmt.Fprintln(os.Stderr, "run the tests without cgo:", err)
		return 1
	}
}

func TestCheckStatic(t *testing.T) {
	if err := checkStatic(self); err != nil {
		t.Error(err)
	}
	shell, err := filepath.EvalSymlinks("/bin/sh")
	if err != nil {
		t.Skip(err)
	}
	f, err := elf.Open(shell)
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	if libs, err := f.ImportedLibraries(); err != nil || len(libs) == 0 {
		t.Skipf("%s is static", shell)
	}
	if err := checkStatic(shell); err == nil {
		t.Errorf("%s needs a dynamic linker and passes", shell)
	}
	if err := checkStatic("/etc/passwd"); err == nil {
		t.Error("a text passes as a program")
	}
}
