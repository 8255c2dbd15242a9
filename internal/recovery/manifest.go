package recovery

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// manifestName is the manifest's file, beside the files that it names.
const manifestName = "manifest.json"

// manifestVersion is that of the document this build writes; it reads older ones.
const manifestVersion = 1

// manifest is what is stored of a point.
type manifest struct {
	Version int       `json:"version"`
	Session string    `json:"session"`
	At      time.Time `json:"at"`
	Runtime string    `json:"runtime"` // digest of the runtime that saved the files
	Files   []file    `json:"files"`
}

type file struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

func (m manifest) size() (sum int64) {
	for _, f := range m.Files {
		sum += f.Size
	}
	return sum
}

// seal makes everything in folder durable and names it in a manifest.
func (m manifest) seal(ctx context.Context, folder string) (manifest, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return m, fmt.Errorf("list saved files: %w", err)
	}
	for _, entry := range entries {
		f, err := measure(ctx, filepath.Join(folder, entry.Name()), true)
		if err != nil {
			return m, fmt.Errorf("seal saved files: %w", err)
		}
		m.Files = append(m.Files, f)
	}
	doc, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return m, fmt.Errorf("encode manifest: %w", err)
	}
	path := filepath.Join(folder, manifestName)
	if err := os.WriteFile(path, doc, 0o600); err != nil {
		return m, fmt.Errorf("write manifest: %w", err)
	}
	if err := errors.Join(syncPath(path), syncPath(folder)); err != nil {
		return m, fmt.Errorf("sync manifest: %w", err)
	}
	return m, nil
}

// readManifest reads a point's manifest; whether the files are as it says is not
// looked at.
func readManifest(folder string) (m manifest, err error) {
	doc, err := os.ReadFile(filepath.Join(folder, manifestName))
	if err != nil {
		return m, fmt.Errorf("read manifest: %w", err)
	}
	if err := json.Unmarshal(doc, &m); err != nil {
		return m, fmt.Errorf("read manifest: %w", err)
	}
	if m.Version < 1 || m.Version > manifestVersion {
		return m, fmt.Errorf("the manifest has version %d, this version of Paddock knows up to %d", m.Version, manifestVersion)
	}
	return m, nil
}

// verify says which file is not as the manifest says.
func (m manifest) verify(ctx context.Context, folder string) error {
	for _, want := range m.Files {
		have, err := measure(ctx, filepath.Join(folder, filepath.Base(want.Name)), false)
		if err != nil {
			return fmt.Errorf("verify saved files: %w", err)
		}
		if have != want {
			return fmt.Errorf("saved file %s is damaged: it has %d bytes with digest %.12s…, not %d with %.12s…", want.Name, have.Size, have.SHA256, want.Size, want.SHA256)
		}
	}
	return nil
}

// measure reads a file for its size and digest, and syncs it if it is new.
func measure(ctx context.Context, path string, fresh bool) (f file, err error) {
	in, err := os.Open(path)
	if err != nil {
		return f, err
	}
	defer in.Close()
	if fresh {
		if err := in.Sync(); err != nil {
			return f, err
		}
	}
	hash := sha256.New()
	n, err := io.Copy(hash, whileWanted{ctx, in})
	return file{Name: filepath.Base(path), Size: n, SHA256: hex.EncodeToString(hash.Sum(nil))}, err
}

// whileWanted reads until ctx ends.
type whileWanted struct {
	ctx context.Context // of the call that reads
	in  io.Reader
}

// Read is io.Reader's.
func (r whileWanted) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.in.Read(p)
}

func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
