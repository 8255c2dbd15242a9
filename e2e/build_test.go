package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// Other builds of the program, for tests of upgrades. They use the flags of the
// Makefile, by which the compiled sandbox runtime is cached.

const linkFlags = "-s -w"

func goBuild(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("go", append([]string{"build"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build %v: %v\n%s", args, err, out)
	}
}

// buildWithOtherGuest builds this source with a guest, and thereby a program, of
// other digests.
func buildWithOtherGuest(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	guest := filepath.Join(dir, "paddock-guest")
	goBuild(t, root, "-ldflags", linkFlags+" -buildid=another", "-o", guest, "./cmd/paddock-guest")
	inTree := filepath.Join(root, "internal", "embedded", "bin", runtime.GOOS+"_"+runtime.GOARCH, "paddock-guest")
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {inTree: guest}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o644); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "paddock")
	goBuild(t, root, "-overlay", filepath.Join(dir, "overlay.json"), "-ldflags", linkFlags+" -X main.version=v0.0.1-older", "-o", out, "./cmd/paddock")
	return out
}

// buildOfCommit builds the program as it was at a commit, with its own guest. It
// skips the test where the clone does not have that commit.
func buildOfCommit(t *testing.T, commit string) string {
	t.Helper()
	if err := exec.Command("git", "-C", "..", "cat-file", "-e", commit+"^{commit}").Run(); err != nil {
		t.Skipf("this clone does not have commit %s to upgrade from: %v", commit, err)
	}
	dir := t.TempDir()
	if out, err := exec.Command("sh", "-c", "git -C .. archive "+commit+" | tar -x -C "+dir).CombinedOutput(); err != nil {
		t.Fatalf("take out commit %s: %v\n%s", commit, err, out)
	}
	inside := filepath.Join(dir, "internal", "embedded", "bin", runtime.GOOS+"_"+runtime.GOARCH)
	if err := os.MkdirAll(inside, 0o755); err != nil {
		t.Fatal(err)
	}
	goBuild(t, dir, "-ldflags", linkFlags, "-o", inside+"/", "./cmd/paddock-guest", "./cmd/paddock-demo-agent")
	out := filepath.Join(dir, "paddock")
	goBuild(t, dir, "-ldflags", linkFlags+" -X main.version="+commit, "-o", out, "./cmd/paddock")
	return out
}
