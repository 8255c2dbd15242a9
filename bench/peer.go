package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

// runsc drives the embedded runtime by its own command line, on the same root
// file system, as the measure of what the runtime itself costs.
type runsc struct {
	program, dir string
}

func newPeer(program, dir, templates string) (*runsc, error) {
	p := &runsc{program: program, dir: filepath.Join(dir, "peer")}
	root, err := newestRoot(templates)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(p.dir, "bundle"), 0o700); err != nil {
		return nil, err
	}
	b, err := json.Marshal(specs.Spec{
		Version: "1.1.0", Hostname: "peer",
		Root:    &specs.Root{Path: root},
		Process: &specs.Process{Cwd: "/", Args: []string{"/bin/sleep", "1000000"}, Env: []string{"PATH=/usr/bin:/bin"}},
		Mounts:  []specs.Mount{{Destination: "/proc", Type: "proc"}, {Destination: "/tmp", Type: "tmpfs"}},
		Linux:   &specs.Linux{Namespaces: []specs.LinuxNamespace{{Type: "pid"}, {Type: "network"}, {Type: "ipc"}, {Type: "uts"}, {Type: "mount"}}},
	})
	if err != nil {
		return nil, err
	}
	return p, os.WriteFile(filepath.Join(p.dir, "bundle", "config.json"), b, 0o600)
}

// newestRoot finds the root file system that the server has just prepared.
func newestRoot(templates string) (string, error) {
	found, err := filepath.Glob(filepath.Join(templates, "*", "usr"))
	more, err2 := filepath.Glob(filepath.Join(templates, "*", "*", "usr"))
	found = append(found, more...)
	if err := errors.Join(err, err2); err != nil || len(found) == 0 {
		return "", fmt.Errorf("no root file system in %s: %w", templates, err)
	}
	return filepath.Dir(found[len(found)-1]), nil
}

func (p *runsc) verb(ctx context.Context, args ...string) error {
	flags := []string{"runsc", "--root", filepath.Join(p.dir, "state"), "--ignore-cgroups", "--network=none", "--platform=systrap", "--overlay2=root:dir=" + p.dir}
	cmd := exec.CommandContext(ctx, p.program, append(flags, args...)...)
	out, err := os.OpenFile(filepath.Join(p.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out // a pipe would be held open by the sandbox
	if err := cmd.Run(); err != nil {
		tail, _ := os.ReadFile(out.Name())
		return fmt.Errorf("runsc %v: %w: %s", args, err, bytes.TrimSpace(tail[max(0, len(tail)-500):]))
	}
	return nil
}

func (p *runsc) start(ctx context.Context, id string) error {
	return p.verb(ctx, "run", "-detach", "-bundle", filepath.Join(p.dir, "bundle"), id)
}

func (p *runsc) execTrue(ctx context.Context, id string) error {
	return p.verb(ctx, "exec", id, "/bin/true")
}

func (p *runsc) remove(ctx context.Context, id string) error {
	return p.verb(ctx, "delete", "-force", id)
}

// close takes away what runsc leaves: the mount of an empty network namespace.
func (p *runsc) close() {
	_ = unix.Unmount(filepath.Join(p.dir, "state", "null-netns"), unix.MNT_DETACH)
	_ = os.RemoveAll(p.dir)
}
