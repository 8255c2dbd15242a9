package guest

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"paddock/internal/guest/proc"
	"paddock/internal/guestapi"
)

// Skills are the agent's own files where it looks for them, made anew over what is
// there; no link of the agent's has them written elsewhere.
func TestPutSkill(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root gives files away")
	}
	home, err := os.MkdirTemp("/var/tmp", "paddock-skills-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(home)
	user := proc.User{Name: "agent", UID: 1000, GID: 1000}
	if err := os.Chown(home, 1000, 1000); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(home, 0o755); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(home, ".agent/skills")
	skill := guestapi.Skill{Name: "a", Files: map[string]string{"SKILL.md": "how", "x/y/run.sh": "#!/bin/sh\n"}}
	for range 2 {
		if err := putSkill(dir, skill, user); err != nil {
			t.Fatal(err)
		}
	}
	for name, mode := range map[string]os.FileMode{"": 0o755, "a": 0o755, "a/SKILL.md": 0o644, "a/x/y": 0o755, "a/x/y/run.sh": 0o755} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if owner := info.Sys().(*syscall.Stat_t).Uid; info.Mode().Perm() != mode || owner != 1000 {
			t.Errorf("%s has mode %v and owner %d", name, info.Mode(), owner)
		}
	}

	victim := filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(victim, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "a/SKILL.md")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, filepath.Join(dir, "a/SKILL.md")); err != nil {
		t.Fatal(err)
	}
	if err := putSkill(dir, skill, user); err != nil {
		t.Error(err)
	}
	if err := os.Rename(filepath.Join(dir, "a"), filepath.Join(dir, "b")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Dir(victim), filepath.Join(dir, "a")); err != nil {
		t.Fatal(err)
	}
	if err := os.Lchown(filepath.Join(dir, "a"), 1000, 1000); err != nil {
		t.Fatal(err)
	}
	if err := putSkill(dir, skill, user); err == nil {
		t.Error("a link of the agent's was followed")
	}
	if text, err := os.ReadFile(victim); err != nil || string(text) != "kept" {
		t.Errorf("%q %v", text, err)
	}
	if list, err := os.ReadDir(filepath.Dir(victim)); err != nil || len(list) != 1 {
		t.Errorf("beside it: %v %v", list, err)
	}
}
