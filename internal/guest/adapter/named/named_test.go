package named

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What a call names is said in full, with where its links lead: those of folders
// on the way, dangling ones, and .. behind a link.
func TestLinksAreFollowed(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	workspace := root + "/workspace"
	for _, dir := range []string{workspace, root + "/etc/sub"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"out": root + "/etc", "up": "../etc/new", "loop": "loop", "sub": root + "/etc/sub"} {
		if err := os.Symlink(to, workspace+"/"+name); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"a": "/workspace/a", "./b/../a": "/workspace/a", "out/passwd": "/workspace/out/passwd /etc/passwd", "out/x/y": "/workspace/out/x/y /etc/x/y",
		"up": "/workspace/up /etc/new", "sub/../x": "/workspace/x /etc/x", "loop": "/workspace/loop", root + "/etc/x": "/etc/x",
	} {
		if got := strings.ReplaceAll(strings.Join(Files(workspace, []string{name}), " "), root, ""); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if got := Files(workspace, make([]string, maxFiles+1)); got != nil {
		t.Errorf("%d files", len(got))
	}
}
