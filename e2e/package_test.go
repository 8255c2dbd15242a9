package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"paddock/e2e/host"
)

// pack makes the packages of the program under test in a folder.
func pack(t *testing.T, version, folder string) (tarball, deb string) {
	t.Helper()
	cmd := exec.Command("../scripts/dist.sh", program, version, runtime.GOARCH, folder)
	cmd.Env = append(os.Environ(), "SOURCE_DATE_EPOCH=1700000000", "DIST_LEVEL=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("pack: %v\n%s", err, out)
	}
	tars, _ := filepath.Glob(folder + "/*.tar.gz")
	debs, _ := filepath.Glob(folder + "/*.deb")
	if len(tars) != 1 {
		t.Fatalf("made: %v", tars)
	}
	if len(debs) == 1 {
		deb = debs[0]
	}
	return tars[0], deb
}

func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// What is packed is complete, belongs to root, and is the same, byte by byte,
// when it is packed again.
func TestPackages(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	tarball, deb := pack(t, "v1.2.3", first)
	pack(t, "v1.2.3", second)
	for _, file := range []string{tarball, deb, filepath.Join(first, "SHA256SUMS")} {
		if file == "" {
			continue
		}
		a, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(second, filepath.Base(file)))
		if err != nil || !bytes.Equal(a, b) {
			t.Errorf("%s is not the same when it is made again: %v", filepath.Base(file), err)
		}
	}
	sums := exec.Command("sha256sum", "--check", "--strict", "SHA256SUMS")
	sums.Dir = first
	if out, err := sums.CombinedOutput(); err != nil {
		t.Errorf("checksums: %v\n%s", err, out)
	}
	list := output(t, "tar", "-tvf", tarball)
	for _, name := range []string{"bin/paddock", "README.md", "LICENSE", "CHANGELOG.md", "INSTALL.md", "systemd/paddock.service",
		"share/completions/_paddock", "share/completions/paddock.bash", "share/completions/paddock.fish", "share/man/man1/paddock.1"} {
		if !strings.Contains(list, "/"+name+"\n") {
			t.Errorf("the tar has no %s", name)
		}
	}
	for line := range strings.Lines(list) {
		if !strings.Contains(line, " 0/0 ") {
			t.Errorf("not of root: %s", line)
		}
	}
	if deb == "" {
		t.Skip("there is no dpkg-deb here to make a Debian package")
	}
	if fields := output(t, "dpkg-deb", "-f", deb, "Package", "Version", "Architecture"); fields != "Package: paddock\nVersion: 1.2.3\nArchitecture: "+runtime.GOARCH+"\n" {
		t.Errorf("the package says %q", fields)
	}
	if _, err := exec.LookPath("lintian"); err == nil {
		if out, err := exec.Command("lintian", "--fail-on", "error", "--suppress-tags", "statically-linked-binary", deb).CombinedOutput(); err != nil {
			t.Errorf("lintian: %v\n%s", err, out)
		}
	}
}

// The Debian package is installed, upgraded, removed and purged in a folder that
// stands for a machine's root: with a session that lives on through the upgrade
// and the removal, and of which the purge leaves nothing.
func TestDebianPackage(t *testing.T) {
	for _, name := range []string{"dpkg", "dpkg-deb"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("there is no %s here", name)
		}
	}
	root := t.TempDir()
	for _, folder := range []string{"var/lib/dpkg/updates", "var/lib/dpkg/info", "etc"} {
		if err := os.MkdirAll(filepath.Join(root, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"var/lib/dpkg/status", "etc/group", "etc/gshadow", "etc/passwd", "etc/login.defs"} {
		if err := os.WriteFile(filepath.Join(root, file), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	dpkg := func(args ...string) string {
		t.Helper()
		return output(t, "dpkg", append([]string{"--root=" + root, "--force-script-chrootless", "--force-depends", "--force-bad-path"}, args...)...)
	}
	at := func(path string) string { return filepath.Join(root, path) }
	is := func(path string, want bool) {
		t.Helper()
		if _, err := os.Stat(at(path)); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
	s := newServer(t)
	if err := os.Remove(s.dir); err != nil {
		t.Fatal(err)
	}
	s.dir = at("var/lib/paddock")
	s.program = at("usr/bin/paddock")
	s.under = asTheUnit(t)

	_, deb := pack(t, "v1.0.0", t.TempDir())
	dpkg("-i", deb)
	for _, path := range []string{"usr/bin/paddock", "usr/lib/systemd/system/paddock.service", "usr/share/man/man1/paddock.1.gz", "etc/default/paddock"} {
		is(path, true)
	}
	if groups, _ := os.ReadFile(at("etc/group")); !strings.Contains(string(groups), "paddock:") {
		t.Errorf("groups are %q", groups)
	}
	s.start()
	s.waitServing()
	sess := s.create("agent: demo\n")
	s.turn(sess.SessionID, "hello")
	roots := machineRoots(sess.SandboxID)

	_, deb = pack(t, "v1.1.0", t.TempDir())
	dpkg("-i", deb)
	s.stop() // as the unit's restart
	s.restart()
	if got := s.turn(sess.SessionID, "hello"); !strings.HasPrefix(got, "turn 2: ") {
		t.Errorf("the turn after the upgrade: %q", got)
	}

	s.stop()
	if out := dpkg("-r", "paddock"); !strings.Contains(out, "sessions and their sandboxes are left") {
		t.Errorf("the removal says %s", out)
	}
	is("usr/bin/paddock", false)
	is("etc/default/paddock", true)
	is("var/lib/paddock/paddock.db", true)
	if got := machineRoots(sess.SandboxID); len(roots) != 2 || !slices.Equal(got, roots) {
		t.Errorf("kernel and gofer were %v, are %v", roots, got)
	}

	dpkg("-P", "paddock")
	is("etc/default/paddock", false)
	is("var/lib/paddock", false)
	if left := host.Processes(s.dir); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
	if left := append(host.Mounts(s.dir), host.Cgroups(sess.SandboxID)...); len(left) > 0 {
		t.Errorf("left on the host: %v", left)
	}
	// The server that the end of the test starts has the folder for itself.
	s.program, s.under = program, nil
}
