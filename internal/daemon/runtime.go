package daemon

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"paddock/internal/embedded"
)

// runtimeFiles is the set of programs that this build puts into sandboxes.
type runtimeFiles struct {
	dir    string // <data>/runtimes/<digest>: what is bound at /opt/paddock/bin
	digest string
}

// unpackRuntime writes the embedded programs into a folder named by their
// digest, whole or not at all. Sandboxes of older builds keep theirs.
func unpackRuntime(dataDir string) (runtimeFiles, error) {
	guest, err := embedded.Guest()
	if err != nil {
		return runtimeFiles{}, err
	}
	demo, err := embedded.DemoAgent()
	if err != nil {
		return runtimeFiles{}, err
	}
	sum := sha256.New()
	sum.Write(guest)
	sum.Write(demo)
	r := runtimeFiles{digest: hex.EncodeToString(sum.Sum(nil))}
	r.dir = filepath.Join(dataDir, "runtimes", r.digest)
	if _, err := os.Stat(r.dir); err == nil {
		return r, nil
	}
	if err := os.MkdirAll(filepath.Dir(r.dir), 0o700); err != nil {
		return r, fmt.Errorf("make runtimes folder: %w", err)
	}
	tmp, err := os.MkdirTemp(filepath.Dir(r.dir), ".new-*")
	if err != nil {
		return r, fmt.Errorf("unpack runtime: %w", err)
	}
	defer os.RemoveAll(tmp)
	err = errors.Join(
		os.Chmod(tmp, 0o755),
		os.WriteFile(filepath.Join(tmp, "paddock-guest"), guest, 0o755),
		os.WriteFile(filepath.Join(tmp, "paddock-demo-agent"), demo, 0o755))
	if err == nil {
		err = os.Rename(tmp, r.dir)
	}
	if err != nil {
		return r, fmt.Errorf("unpack runtime: %w", err)
	}
	return r, nil
}
