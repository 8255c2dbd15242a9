package embedded

import (
	"errors"
	"fmt"
	"io/fs"
)

// Guest gives the static executable that is pid 1 of every sandbox (about
// 6 MB). It fails only in a build made without `make generate`.
func Guest() ([]byte, error) { return program("paddock-guest") }

// DemoAgent gives the static executable of `agent: demo`. It fails only in a
// build made without `make generate`.
func DemoAgent() ([]byte, error) { return program("paddock-demo-agent") }

func program(name string) ([]byte, error) {
	b, err := files.ReadFile(folder + "/" + name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("this build carries no %s: run `make generate` in the source folder and build again", name)
	}
	return b, err
}
