package main

import (
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

// container is one container of runc on the root file system that sessions
// have, under an overlay of the host's kernel: what people would use instead.
type container struct{ dir string }

const containerID = "paddock-bench-work"

func startContainer(ctx context.Context, dir, templates string) (*container, error) {
	if _, err := exec.LookPath("runc"); err != nil {
		return nil, errors.New("runc is not installed (apt-get install runc)")
	}
	lower, err := newestRoot(templates)
	if err != nil {
		return nil, err
	}
	c := &container{dir: dir}
	for _, name := range []string{"upper", "work", "root", "bundle", "state"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			return nil, err
		}
	}
	overlay := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", lower, filepath.Join(dir, "upper"), filepath.Join(dir, "work"))
	if err := unix.Mount("overlay", filepath.Join(dir, "root"), "overlay", 0, overlay); err != nil {
		return nil, fmt.Errorf("mount overlay: %w", err)
	}
	if err := c.start(ctx); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *container) start(ctx context.Context) error {
	b, err := json.Marshal(specs.Spec{
		Version: "1.0.2", Hostname: "work",
		Root:    &specs.Root{Path: filepath.Join(c.dir, "root")},
		Process: &specs.Process{Cwd: "/workspace", Args: []string{"/bin/sleep", "100000"}, Env: workEnv, User: specs.User{UID: 1000, GID: 1000}},
		Mounts: []specs.Mount{
			{Destination: "/proc", Type: "proc", Source: "proc"},
			{Destination: "/dev", Type: "tmpfs", Source: "tmpfs", Options: []string{"nosuid", "mode=755"}},
		},
		Linux: &specs.Linux{Namespaces: []specs.LinuxNamespace{{Type: "pid"}, {Type: "network"}, {Type: "ipc"}, {Type: "uts"}, {Type: "mount"}}},
	})
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(c.dir, "bundle", "config.json"), b, 0o600); err != nil {
		return err
	}
	said, err := os.Create(filepath.Join(c.dir, "log")) // a pipe would be held open by the container
	if err != nil {
		return err
	}
	defer said.Close()
	cmd := exec.CommandContext(ctx, "runc", "--root", c.state(), "run", "--detach", "--bundle", filepath.Join(c.dir, "bundle"), containerID)
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Run(); err != nil {
		text, _ := os.ReadFile(said.Name())
		return fmt.Errorf("start runc: %w: %s", err, text)
	}
	return nil
}

func (c *container) state() string { return filepath.Join(c.dir, "state") }

// run does a line of bash in the container, as the user that a session's agent has.
func (c *container) run(ctx context.Context, line string, stdin []byte) (string, error) {
	return runQuiet(ctx, "/", stdin, "runc", "--root", c.state(), "exec", containerID, "/bin/bash", "-ec", line)
}

// close ends the container and takes its overlay away.
func (c *container) close() {
	_ = exec.Command("runc", "--root", c.state(), "delete", "--force", containerID).Run()
	_ = unix.Unmount(filepath.Join(c.dir, "root"), unix.MNT_DETACH)
	_ = os.RemoveAll(c.dir)
}
