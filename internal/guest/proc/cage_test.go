package proc

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

const agentID = 1000

// caged runs a shell script as the agent's user in a cage and gives what it
// printed, a line each.
func caged(t *testing.T, table *Table, dir, script string, writable ...string) []string {
	t.Helper()
	code, out := tryCaged(t, table, dir, script, writable...)
	if code != 0 {
		t.Fatalf("%d: %s", code, out)
	}
	return strings.Split(strings.TrimSuffix(out, "\n"), "\n")
}

func tryCaged(t *testing.T, table *Table, dir, script string, writable ...string) (code int, out string) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	user := User{UID: agentID, GID: agentID, Groups: []uint32{testGroup}}
	spec := Spec{Path: "/bin/sh", Argv: []string{"sh", "-c", script}, Dir: dir, User: user, Env: []string{"PATH=" + DefaultPath}, Files: [3]*os.File{r, w, w}}
	p, err := table.Start(spec.Caged([]string{readable(t, self), launchWord}, 4321, writable))
	w.Close()
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSPC) {
		t.Skipf("this host lets nobody make namespaces: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	<-p.Done()
	if err != nil {
		t.Fatal(err)
	}
	return p.Exit().Code(), string(text)
}

// readable makes everybody able to execute a program of ours.
func readable(t *testing.T, program string) string {
	t.Helper()
	text, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(folder(t), "launcher")
	if err := os.WriteFile(copied, text, 0o755); err != nil {
		t.Fatal(err)
	}
	return copied
}

// folder is one that everybody can go to, of the agent.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "paddock-cage-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, agentID, agentID); err != nil {
		t.Fatal(err)
	}
	return dir
}

// An agent that is root is so in a namespace of its own, and what it starts is of
// its tree, whatever groups that has.
func TestApart(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root makes namespaces")
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	table := newTable(t)
	script := `chown 1000:1000 mine && stat -c '%u %g' mine
mount -t tmpfs none /mnt 2>/dev/null && echo mounted
(ulimit -u 5000) 2>/dev/null && echo more
id -u; id -G
setpriv --reuid 1000 --regid 1000 --clear-groups sh -c '(setsid sleep 1000 <&- >&- 2>&- &); id -u; id -G'`
	dir := folder(t)
	if err := os.WriteFile(filepath.Join(dir, "mine"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	spec := Spec{Path: "/bin/sh", Argv: []string{"sh", "-c", script}, Dir: dir, User: User{Groups: []uint32{testGroup}}, Env: []string{"PATH=" + DefaultPath}, Files: [3]*os.File{r, w, w}}
	stranger := start(t, table, nil, "echo ready; sleep 1000")
	stranger.line(t)
	p, err := table.Start(spec.Apart([]string{self, launchWord}, 4321))
	w.Close()
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSPC) {
		t.Skipf("this host lets nobody make namespaces: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	<-p.Done()
	if want := "1000 1000\n0\n0 61999\n1000\n1000\n"; err != nil || string(text) != want {
		t.Errorf("%q, want %q (%v)", text, want, err)
	}
	tree := &Tree{Group: testGroup}
	if left := Scan(tree); len(left) != 0 {
		t.Errorf("left in the group: %v", left)
	}
	tree.Apart()
	left := Scan(tree)
	if slices.ContainsFunc(left, func(k Task) bool { return k.Pid == stranger.Pid }) {
		t.Error("a stranger is held to be of the tree")
	}
	ours := slices.DeleteFunc(left, func(k Task) bool {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", k.Pid))
		return err != nil || string(line) != "sleep\x001000\x00" // the host may have namespaces of others
	})
	if len(ours) != 1 {
		t.Fatalf("in the tree: %v", left)
	}
	if err := unix.Kill(ours[0].Pid, unix.SIGKILL); err != nil {
		t.Error(err)
	}
}

func TestCage(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root makes cages")
	}
	open, shut := folder(t), folder(t)
	got := caged(t, newTable(t), open, `
say() { "$@" 2>/dev/null && echo yes || echo no; }
say touch a
say touch ../`+filepath.Base(shut)+`/a
say touch `+shut+`/b
echo x >`+shut+`/c
say ln `+shut+`/kept `+open+`/link
say mv `+open+` `+open+`-moved
say umount `+open+`
say mount -o remount,rw /
say unshare -Urm mount -o remount,rw,bind /
grep -E '^(Uid|Groups|Cap(Prm|Eff|Bnd))' /proc/self/status
stat -c '%u %g' / `+open+` /etc/passwd
echo >/dev/null && echo null`, open)
	want := []string{
		"yes", "no", "no", "sh: 6: cannot create " + shut + "/c: Read-only file system", "no", "no", "no", "no", "no",
		"Uid:\t1000\t1000\t1000\t1000", "Groups:\t61999 ", "CapPrm:\t0000000000000000", "CapEff:\t0000000000000000", "CapBnd:\t0000000000000000",
		"0 0", "1000 1000", "0 0", "null",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := os.WriteFile(filepath.Join(shut, "outside"), nil, 0o600); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(open, "a")); err != nil {
		t.Error(err)
	}
}

// What runs outside as the same user is out of reach, with what it has open.
func TestCageHidesOutside(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root makes cages")
	}
	open, shut := folder(t), folder(t)
	table := newTable(t)
	outside, err := table.Start(Spec{Path: "/bin/sleep", Argv: []string{"sleep", "60"}, Dir: shut, User: User{UID: agentID, GID: agentID}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { outside.KillGroup(); <-outside.Done() }()
	got := caged(t, table, open, fmt.Sprintf(`
for way in root%[2]s cwd; do touch /proc/%[1]d/$way/a 2>/dev/null && echo "$way leads out"; done
cat /proc/%[1]d/environ >/dev/null 2>&1 && echo it can be read
kill -0 %[1]d && echo it is there`, outside.Pid, shut), open)
	if diff := cmp.Diff([]string{"it is there"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A cage that cannot be made starts nothing.
func TestCageFails(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root makes cages")
	}
	dir := folder(t)
	if err := os.Symlink(dir, dir+"/link"); err != nil {
		t.Fatal(err)
	}
	table := newTable(t)
	for _, writable := range []string{dir + "/missing", dir + "/link"} {
		code, out := tryCaged(t, table, dir, "echo started", writable)
		if code != 1 || !strings.Contains(out, "so it was not started") || strings.HasSuffix(out, "started\n") {
			t.Errorf("%s: %d %s", writable, code, out)
		}
	}
}

func TestParseMounts(t *testing.T) {
	got, err := parseMounts([]byte("29 28 0:20 / / ro - overlay none ro\n30 29 0:21 / /a\\040b rw,nosuid,relatime shared:1 - tmpfs t rw\n31 30 0:1 / /a\\040b ro,noexec - tmpfs t rw\n"))
	want := []mounted{{"/", unix.MS_RDONLY}, {"/a b", unix.MS_RDONLY | unix.MS_NOEXEC}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := parseMounts([]byte("29 28 0:20\n")); err == nil {
		t.Error("half a line is no error")
	}
}

func TestWhere(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs files of two users")
	}
	dir, agent := folder(t), User{UID: agentID, GID: agentID}
	for _, line := range []string{
		"mkdir -p real/deep roots && ln -s real/deep/../deep by-root && ln -s /var/tmp absolute && ln -s loop loop && touch file",
		"ln -s real by-agent && chown -h 1000 by-agent", "chown 0:0 roots && chmod 755 roots", "mkdir shut && chown 1000 shut && chmod 555 shut",
	} {
		cmd := exec.Command("sh", "-c", line)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v %s", line, err, out)
		}
	}
	for name, want := range map[string]string{
		"": "", "real": "real", "by-root": "real/deep", "by-root/new/er": "!does not exist, and is not in a folder of the agent's", "./real//deep/": "real/deep", "file": "file", "made/deep": "made/deep",
		"real/deep/../../file": "file", "by-agent": "!is a link that the agent itself can turn", "by-agent/deep": "!is a link that the agent itself can turn",
		"roots/new": "!does not exist, and is not in a folder of the agent's", "shut/new": "!does not exist", "file/x": "!not a directory", "loop": "!more than 40 links",
	} {
		got, err := Where(dir+"/"+name, agent)
		if why, wrong := strings.CutPrefix(want, "!"); wrong {
			if err == nil || !strings.Contains(err.Error(), why) {
				t.Errorf("%s: %s, %v", name, got, err)
			}
			continue
		}
		if err != nil || got != filepath.Join(dir, want) {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	var stat unix.Stat_t
	if err := unix.Stat(dir+"/made/deep", &stat); err != nil || stat.Uid != agentID || stat.Gid != agentID {
		t.Errorf("made is %d:%d, %v", stat.Uid, stat.Gid, err)
	}
}
