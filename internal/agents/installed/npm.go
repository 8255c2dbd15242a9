package installed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// npmPatience is how long what npm has started may hold its output after its end.
const npmPatience = 2 * time.Second

// fetch has npm install a package into a folder.
func fetch(ctx context.Context, npm, dir, pkg string, progress func(string)) error {
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, npm, "install", "--prefix", dir, "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier",
		"--no-progress", "--loglevel=error", "--global=false", "--workspaces=false", "--install-strategy=hoisted",
		"--fetch-retries=2", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=4000", pkg)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &said, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = npmPatience
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start npm: %w", err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			if cause := context.Cause(ctx); cause != nil {
				return cause
			}
			if err != nil {
				return explain(said.String(), dir, pkg, err)
			}
			return nil
		case <-tick.C:
			progress(fmt.Sprintf("%d MiB", size(dir)>>20))
		}
	}
}

// size is how many bytes the files in a folder have, about.
func size(dir string) (bytes int64) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil // it comes and goes while npm works
		}
		if info, err := e.Info(); err == nil {
			bytes += info.Size()
		}
		return nil
	})
	return bytes
}

var npmCode = regexp.MustCompile(`(?m)^npm (?:error|ERR!) code (\w+)`)

// explain makes a sentence of what npm said.
func explain(said, dir, pkg string, err error) error {
	code := ""
	if m := npmCode.FindStringSubmatch(said); m != nil {
		code = m[1]
	}
	switch code {
	case "E404", "ETARGET", "ENOVERSIONS":
		return fmt.Errorf("npm finds no %s; npm view %s versions lists what there is", pkg, unversioned(pkg))
	case "ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "ENETUNREACH", "EHOSTUNREACH", "ERR_SOCKET_TIMEOUT", "FETCH_ERROR":
		return fmt.Errorf("npm cannot reach its registry (%s); is this machine online, or does it need a proxy (npm config set proxy)?", code)
	case "ENOSPC":
		return noSpace(filepath.Dir(dir))
	case "EBADENGINE":
		return fmt.Errorf("%s wants a newer Node.js than this machine has", pkg)
	}
	if errors.Is(err, exec.ErrWaitDelay) {
		return errors.New("npm has ended, but something that it started has not")
	}
	if last := lastLines(said, 4); last != "" {
		return fmt.Errorf("npm failed: %s", last)
	}
	return fmt.Errorf("npm failed: %w", err)
}

// unversioned is the package without its version.
func unversioned(pkg string) string {
	if at := strings.LastIndex(pkg, "@"); at > 0 {
		return pkg[:at]
	}
	return pkg
}

// lastLines gives what npm said at last, without its own name.
func lastLines(said string, most int) string {
	var lines []string
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(line), "npm error"), "npm ERR!"))
		if line != "" && !strings.Contains(line, "A complete log of this run") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines[max(0, len(lines)-most):], "; ")
}

// plainer says in our words what the disk refused.
func plainer(err error, dir string) error {
	if errors.Is(err, syscall.ENOSPC) {
		return noSpace(dir)
	}
	if errors.Is(err, os.ErrPermission) {
		return fmt.Errorf("folder %s may not be written by this user: %w", dir, err)
	}
	return err
}

func noSpace(dir string) error {
	return fmt.Errorf("there is no space left on the disk of %s: an agent takes up to half a GiB while it is installed", dir)
}
