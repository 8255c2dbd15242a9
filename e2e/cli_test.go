package e2e

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCommandLine walks the way of the README with the program's own commands.
func TestCommandLine(t *testing.T) {
	s := startServer(t)
	run := func(want int, args ...string) string {
		t.Helper()
		out, errs, code := s.cli(args...)
		if code != want {
			t.Fatalf("paddock %v exits with %d, want %d\n%s%s", args, code, want, out, errs)
		}
		return out
	}
	run(0, "create", "--agent", "demo", "--name", "walk")
	if out := run(0, "prompt", "walk", "hello"); !strings.Contains(out, "turn 1: ") {
		t.Errorf("prompt says %q", out)
	}
	run(0, "prompt", "walk", "--on-ask", "approve", "write notes.txt remember this")
	if out := run(0, "exec", "walk", "--", "cat", "notes.txt"); strings.TrimSpace(out) != "remember this" {
		t.Errorf("notes.txt is %q", out)
	}
	if out := run(0, "files", "cat", "walk", "notes.txt"); strings.TrimSpace(out) != "remember this" {
		t.Errorf("files cat says %q", out)
	}
	if out := run(0, "files", "ls", "walk"); !strings.Contains(out, "notes.txt") {
		t.Errorf("files ls says %q", out)
	}
	run(7, "exec", "walk", "--", "sh", "-c", "exit 7")
	run(0, "pause", "walk")
	if out := run(0, "show", "walk"); !strings.Contains(out, "paused") {
		t.Errorf("show says %q", out)
	}
	run(0, "resume", "walk")
	var list struct {
		Sessions []struct {
			Name   string
			Status string
		}
	}
	if err := json.Unmarshal([]byte(run(0, "list", "-o", "json")), &list); err != nil || len(list.Sessions) != 1 || list.Sessions[0].Name != "walk" {
		t.Errorf("list -o json: %+v, %v", list, err)
	}
	for line := range strings.Lines(run(0, "events", "walk", "-o", "json")) {
		var e struct {
			Seq  int64
			Type string
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Seq == 0 || e.Type == "" {
			t.Errorf("events -o json: %q, %v", line, err)
		}
	}
	run(0, "prompt", "walk", "--on-ask", "reject", "run touch forbidden")
	if out := run(0, "exec", "walk", "--", "ls"); strings.Contains(out, "forbidden") {
		t.Error("a rejected command ran")
	}
	run(1, "prompt", "walk", "fail for good")
	run(4, "prompt", "walk", "hello") // the run was terminal
	run(3, "show", "nobody")
	run(2, "create", "--agent")
	run(0, "remove", "walk")
	run(255, "exec", "nobody", "--", "true") // its own failure, not the command's
}

func TestSecondServerIsRefused(t *testing.T) {
	s := startServer(t)
	for name, args := range map[string][]string{
		"same folder": {"serve", "--data-dir", s.dir, "--listen", freePort(t)},
		"busy port":   {"serve", "--data-dir", filepath.Join(s.dir, "other"), "--listen", s.addr},
	} {
		out, err := exec.Command(program, args...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "pid") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// A data folder with a name longer than a unix socket's address may be.
func TestLongDataFolder(t *testing.T) {
	s := startServer(t)
	s.stop()
	s.dir = filepath.Join(s.dir, strings.Repeat("long-folder-name-", 10))
	s.restart()
	id := s.create("agent: none\n").SessionID
	if out := s.sh(id, "echo alive"); out != "alive\n" {
		t.Errorf("exec says %q", out)
	}
	s.kill()
	s.restart()
	if out := s.sh(id, "echo alive"); out != "alive\n" {
		t.Errorf("after a restart exec says %q", out)
	}
}
