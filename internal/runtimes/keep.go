package runtimes

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Keep keeps a build, whole or not at all: program is the path of its file,
// inside the content of what its machines see, by name. A build that is kept
// already stays as it is.
func (s *Set) Keep(program string, m Manifest, inside map[string][]byte) (Runtime, error) {
	digest, err := digestOf(program)
	if err != nil {
		return Runtime{}, err
	}
	if r, err := s.Find(digest); !errors.Is(err, ErrUnknown) {
		return r, err
	}
	tmp, err := os.MkdirTemp(s.dir, ".new-*")
	if err != nil {
		return Runtime{}, fmt.Errorf("keep runtime: %w", err)
	}
	defer os.RemoveAll(tmp)
	if err := fill(tmp, program, m, inside); err != nil {
		return Runtime{}, fmt.Errorf("keep runtime: %w", err)
	}
	// The program may have been written into since it was read.
	if err := check(filepath.Join(tmp, programName), digest); err != nil {
		return Runtime{}, fmt.Errorf("keep runtime: %w", err)
	}
	if err := os.Rename(tmp, filepath.Join(s.dir, digest)); err != nil {
		return Runtime{}, fmt.Errorf("keep runtime: %w", err)
	}
	if err := syncFile(s.dir); err != nil {
		return Runtime{}, fmt.Errorf("keep runtime: %w", err)
	}
	return s.Find(digest)
}

// fill writes a runtime's folder; all of it is on disk before the folder gets
// its name.
func fill(folder, program string, m Manifest, inside map[string][]byte) error {
	bin := filepath.Join(folder, insideName)
	if err := errors.Join(os.Chmod(folder, 0o755), os.Mkdir(bin, 0o755), os.Chmod(bin, 0o755)); err != nil {
		return err
	}
	for name, content := range inside {
		if err := write(filepath.Join(bin, name), content, 0o755); err != nil {
			return err
		}
	}
	doc, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	if err := write(filepath.Join(folder, manifestName), append(doc, '\n'), 0o644); err != nil {
		return err
	}
	if err := link(program, filepath.Join(folder, programName)); err != nil {
		return err
	}
	return errors.Join(syncFile(bin), syncFile(folder))
}

func write(path string, content []byte, mode fs.FileMode) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()) // umask or not
}

// link puts a file at another place: a hard link costs nothing, a copy is made
// where there can be none (another file system, a file that was removed).
func link(from, to string) error {
	if unix.Linkat(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.AT_SYMLINK_FOLLOW) == nil {
		return nil
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Chmod(0o755), out.Sync(), out.Close())
}

func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func digestOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("read program: %w", err)
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", fmt.Errorf("read program: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
