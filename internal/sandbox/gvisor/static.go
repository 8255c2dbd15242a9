package gvisor

import (
	"debug/elf"
	"errors"
	"fmt"
)

// self is this program's own file.
const self = "/proc/self/exe"

// checkStatic refuses a program that wants a dynamic linker, as one built with
// cgo does: gVisor starts us again inside an empty root, where there is none,
// and all that could be told then is that a sandbox ended.
func checkStatic(program string) error {
	f, err := elf.Open(program)
	if err != nil {
		return fmt.Errorf("read program %s: %w", program, err)
	}
	defer f.Close()
	for _, part := range f.Progs {
		if part.Type == elf.PT_INTERP {
			return errors.New("this program was built with cgo and cannot run inside a sandbox: build it with 'make build', or with CGO_ENABLED=0")
		}
	}
	return nil
}
