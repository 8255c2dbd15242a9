package runtimes

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sync"
)

// The names in a runtime's folder.
const (
	manifestName = "manifest.json"
	programName  = "paddock"
	insideName   = "bin"
)

// ErrUnknown reports that a runtime is not kept here.
var ErrUnknown = errors.New("its version of Paddock is not kept in the data folder")

// Manifest is what a later version has to know of a build.
type Manifest struct {
	Paddock string `json:"paddock"` // version of the build, for people
	GVisor  string `json:"gvisor"`  // module version of the gVisor inside
}

// Runtime is a kept build.
type Runtime struct {
	Digest string // SHA-256 of the program, hex
	Inside string // folder that machines see at /opt/paddock/bin
	Manifest
	folder string
}

// Set is the kept builds of one data folder. Its methods are safe for
// concurrent use; one server at a time may write.
type Set struct {
	dir string

	mu      sync.Mutex
	checked map[string]error // by digest: what Program found
}

// Open gives the builds kept in dir, which is made when absent.
func Open(dir string) (*Set, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make runtimes folder: %w", err)
	}
	return &Set{dir: dir, checked: map[string]error{}}, nil
}

// digestForm is how a digest looks; it becomes a folder's name.
var digestForm = regexp.MustCompile(`^[0-9a-f]{64}$`)

// Find gives a kept build, or ErrUnknown. The manifest of one older than this
// package is empty.
func (s *Set) Find(digest string) (Runtime, error) {
	if !digestForm.MatchString(digest) {
		return Runtime{}, ErrUnknown
	}
	r := Runtime{Digest: digest, folder: filepath.Join(s.dir, digest)}
	r.Inside = filepath.Join(r.folder, insideName)
	doc, err := os.ReadFile(filepath.Join(r.folder, manifestName))
	if errors.Is(err, fs.ErrNotExist) {
		r.Inside = r.folder
		if _, err := os.Stat(r.folder); err != nil {
			return Runtime{}, ErrUnknown
		}
		return r, nil
	}
	if err != nil {
		return Runtime{}, fmt.Errorf("read runtime: %w", err)
	}
	if err := json.Unmarshal(doc, &r.Manifest); err != nil {
		return Runtime{}, fmt.Errorf("read runtime %s: %w", digest, err)
	}
	return r, nil
}

// Program gives the path of a kept build's program, to be run. It is refused
// when its content is not what was kept: a hard link changes when somebody
// writes into the file it was made of.
func (s *Set) Program(r Runtime) (string, error) {
	path := filepath.Join(r.folder, programName)
	s.mu.Lock()
	defer s.mu.Unlock()
	err, done := s.checked[r.Digest]
	if !done {
		err = check(path, r.Digest)
		s.checked[r.Digest] = err
	}
	return path, err
}

func check(path, digest string) error {
	is, err := digestOf(path)
	if errors.Is(err, fs.ErrNotExist) {
		return ErrUnknown
	}
	if err != nil {
		return err
	}
	if is != digest {
		return fmt.Errorf("the program kept as %s was changed", path)
	}
	return nil
}

// Prune removes the builds that are not in use and returns their digests.
func (s *Set) Prune(inUse map[string]bool) ([]string, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, fmt.Errorf("list runtimes: %w", err)
	}
	var removed []string
	for _, entry := range entries {
		if inUse[entry.Name()] {
			continue
		}
		if err := os.RemoveAll(filepath.Join(s.dir, entry.Name())); err != nil {
			return removed, fmt.Errorf("remove runtime: %w", err)
		}
		if digestForm.MatchString(entry.Name()) {
			removed = append(removed, entry.Name())
		}
	}
	return removed, nil
}
