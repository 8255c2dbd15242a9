package installed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"paddock/internal/agents"
)

// Install has npm install a version of an agent, "" for the pinned one, and makes
// it the one that new sessions get. It gives the version, which is another than
// asked for when that was a word such as latest. The programs of the package are
// not run. progress is told in a few words how far it is, about once a second.
func (f Folder) Install(ctx context.Context, a agents.Agent, version string, progress func(string)) (string, error) {
	if !a.Installable() {
		return "", errors.New(a.Obtain)
	}
	if version == "" {
		version = a.Version
	}
	if !plainVersion(version) {
		return "", fmt.Errorf("%q is no version of %s; write one such as %s", version, a.Name, a.Version)
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		return "", fmt.Errorf("npm is missing, with which %s is installed: install Node.js and npm, such as by apt-get install npm", a.Name)
	}
	unlock, err := f.lock()
	if err != nil {
		return "", err
	}
	defer unlock()
	if f.Has(a.Name, version) {
		return version, f.choose(a.Name, version)
	}
	dir, err := os.MkdirTemp(f.dir, ".new-")
	if err != nil {
		return "", fmt.Errorf("install %s: %w", a.Name, err)
	}
	defer os.RemoveAll(dir)
	if err := fetch(ctx, npm, dir, a.Package+"@"+version, progress); err != nil {
		return "", fmt.Errorf("install %s %s: %w", a.Name, version, err)
	}
	progress("putting it in its place")
	if version, err = installedVersion(dir, a); err != nil {
		return "", err
	}
	if f.Has(a.Name, version) {
		return version, f.choose(a.Name, version)
	}
	if err := arrange(dir, a, version); err != nil {
		return "", fmt.Errorf("install %s %s: %w", a.Name, version, plainer(err, f.dir))
	}
	if err := f.place(dir, a.Name, version); err != nil {
		return "", fmt.Errorf("install %s %s: %w", a.Name, version, plainer(err, f.dir))
	}
	return version, f.choose(a.Name, version)
}

// installedVersion is what npm has made of the version that was asked for.
func installedVersion(dir string, a agents.Agent) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, "node_modules", filepath.FromSlash(a.Package), "package.json"))
	if err != nil {
		return "", fmt.Errorf("install %s: %w", a.Name, err)
	}
	var about struct{ Version string }
	if err := json.Unmarshal(text, &about); err != nil || !plainVersion(about.Version) {
		return "", fmt.Errorf("install %s: package %s does not say its version", a.Name, a.Package)
	}
	return about.Version, nil
}

// arrange makes a version's folder of what npm put there.
func arrange(dir string, a agents.Agent, version string) error {
	program, err := findProgram(dir, a)
	if err != nil {
		return err
	}
	for _, pattern := range a.Trim {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return err
		}
		for _, path := range found {
			if strings.HasPrefix(filepath.Join(dir, program), path+"/") {
				continue
			}
			if err := os.RemoveAll(path); err != nil {
				return err
			}
		}
	}
	link := filepath.Join(dir, a.Link())
	if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
		return err
	}
	if err := os.Symlink(filepath.Join("..", program), link); err != nil {
		return err
	}
	for name, content := range a.Files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		content = strings.ReplaceAll(content, agents.Dir, agents.Place(a.Name, version))
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			return err
		}
	}
	return readable(dir, filepath.Join(dir, program))
}

func findProgram(dir string, a agents.Agent) (string, error) {
	for _, pattern := range a.Program {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return "", err
		}
		if len(found) > 0 {
			return filepath.Rel(dir, found[0])
		}
	}
	return "", fmt.Errorf("package %s of this version has no program %s for this machine; Paddock knows version %s", a.Package, a.Program[0], a.Version)
}

// readable lets everybody read what is in a folder, whatever this process's mask
// is, and nobody write.
func readable(dir, program string) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil || info.Mode()&fs.ModeSymlink != 0 {
			return err
		}
		mode := fs.FileMode(0o644)
		if e.IsDir() || path == program || info.Mode()&0o100 != 0 {
			mode = 0o755
		}
		return os.Chmod(path, mode)
	})
}

// place makes a finished folder the version's, on the disk before in name.
func (f Folder) place(dir, name, version string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = unix.Syncfs(int(d.Fd()))
	_ = d.Close()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(f.dir, name), 0o755); err != nil {
		return err
	}
	now := time.Now()
	if err := os.Chtimes(dir, now, now); err != nil {
		return err
	}
	to := filepath.Join(f.dir, name, version)
	if err := os.RemoveAll(to); err != nil { // without its program, else it would count as installed
		return err
	}
	return os.Rename(dir, to)
}
